from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from patchsets import ENDS_AFTER, Ending, Numbered
from pyscale_stages.errors import BadInput
from pyscale_stages.loader.batches import Batches, EndlessSampler, sampler_of
from pyscale_stages.loader.params import LoaderParams


def xs(batch: Any) -> list[int]:
    return list(map(int, batch["x"]))


def test_a_data_set_that_ends_is_begun_again_and_its_last_batch_may_be_smaller(make_batches):
    batches = make_batches(factory="patchsets:ending", batch_size=ENDS_AFTER)
    assert xs(batches.take()) == xs(batches.take()) == list(range(ENDS_AFTER))
    assert batches.ended == 1
    batches = make_batches(factory="patchsets:ending")
    assert [len(xs(batches.take())) for _ in range(4)] == [4, 4, 2, 4]


@pytest.mark.parametrize("opening", ["excluded", "published"])
def test_loader_processes_begin_it_again_too(make_batches, opening):
    batches = make_batches(factory="patchsets:ending", num_workers=1, opening=opening)
    assert [xs(batches.take())[0] for _ in range(7)] == [0, 4, 8, 0, 4, 8, 0]
    assert batches.ended == 2


def test_a_data_set_without_patches_is_refused(make_batches):
    batches = make_batches(factory="patchsets:empty")
    with pytest.raises(BadInput, match="the dataset gives no patch"):
        batches.take()


def test_items_with_numbers_are_shuffled_by_the_seed(make_batches):
    def first(seed: int) -> list[int]:
        batches = make_batches(factory="patchsets:pairs", batch_size=20, seed=seed)
        found: list[int] = batches.take()[1].tolist()
        return found

    assert first(1) == first(1)
    assert first(1) != first(2)
    assert sorted(first(1)) == list(range(20))


def test_as_many_batches_lie_ready_as_torch_asks_for(make_batches):
    assert make_batches(num_workers=2, prefetch_factor=3).ready_at_most == 6
    assert make_batches(num_workers=0).ready_at_most == 0


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let loader processes take their time to end: torch ends them after seconds, and we too."""
    monkeypatch.setattr("torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL", 400.0)
    monkeypatch.setattr("pyscale_stages.loader.batches.ENDING_S", 400.0)


@pytest.mark.slow
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_loader_processes_are_gone_at_the_end(method):
    params = LoaderParams(num_workers=2, batch_size=4, start_method=method)
    before = set(multiprocessing.active_children())
    with Batches(Numbered(["a"], 0), params, 0, 2) as batches:
        batches.begin()
        batches.take()
        processes = set(multiprocessing.active_children()) - before
        assert len(processes) == 2
    assert [process.exitcode for process in processes] == [0, 0]


def test_loader_processes_are_gone_after_an_error():
    params = LoaderParams(num_workers=1, batch_size=4, start_method="fork")
    slides = ["bad.svs"]
    before = set(multiprocessing.active_children())
    with (
        pytest.raises(KeyError) as kept,
        Batches(Numbered(slides, 0), params, 0, 1) as batches,
    ):
        batches.begin()
        batches.take()
        (process,) = set(multiprocessing.active_children()) - before
        raise KeyError(process.pid)
    # What was raised is still held, and with it every frame.
    assert not Path(f"/proc/{kept.value.args[0]}").exists()


def test_a_loader_process_that_dies_at_the_very_end_takes_nothing_back():
    params = LoaderParams(num_workers=1, batch_size=4, start_method="fork")
    before = set(multiprocessing.active_children())
    with Batches(Numbered(["a"], 0), params, 0, 1) as batches:
        batches.begin()
        taken = xs(batches.take())
        (process,) = set(multiprocessing.active_children()) - before
        # Torch's handler raises it here or within the end of the block.
        with suppress(RuntimeError):
            process.kill()
            process.join()
    assert taken == [0, 1, 2, 3]


def test_loader_processes_have_one_thread_each():
    class Threads(Ending):
        """Tells the threads of the process that loads."""

        def item(self, number: int) -> dict[str, Any]:
            """Count them."""
            threads = torch.get_num_threads()
            return {"image": torch.zeros(1, 2, 2), "threads": threads, "pid": os.getpid()}

    params = LoaderParams(num_workers=1, batch_size=2, start_method="fork")
    with Batches(Threads(["a"], 0, 4), params, 0, 1) as batches:
        batches.begin()
        batch = batches.take()
    assert batch["threads"].tolist() == [1, 1]
    assert os.getpid() not in batch["pid"].tolist()


def test_every_item_comes_once_before_any_comes_again():
    drawn = list(islice(EndlessSampler(5, seed=1), 15))
    passes = [drawn[0:5], drawn[5:10], drawn[10:15]]
    assert [sorted(one) for one in passes] == [[0, 1, 2, 3, 4]] * 3
    assert passes[0] != passes[1] or passes[1] != passes[2]


def test_the_same_seed_gives_the_same_order_and_another_another():
    def first(seed: int) -> list[int]:
        return list(islice(EndlessSampler(100, seed), 250))

    assert first(1) == first(1)
    assert first(1) != first(2)


def test_a_loader_never_comes_to_the_end_of_a_numbered_data_set():
    dataset = TensorDataset(torch.arange(3))
    loader = DataLoader(dataset, batch_size=4, sampler=sampler_of(dataset, 0, "mine:make"))
    batches = [batch[0] for batch in islice(loader, 6)]
    assert [len(batch) for batch in batches] == [4] * 6


def test_a_data_set_with_an_order_of_its_own_keeps_it():
    class Stream(IterableDataset[int]):
        def __iter__(self) -> Iterator[int]:
            return iter(range(3))

    assert sampler_of(Stream(), 0, "mine:make") is None


def test_a_data_set_without_items_is_refused():
    with pytest.raises(BadInput, match="the factory mine:make has no items"):
        sampler_of(TensorDataset(torch.arange(0)), 0, "mine:make")


def test_a_data_set_without_a_length_is_refused():
    class Endless(Dataset[int]):
        def __getitem__(self, index: int) -> int:
            return index

    with pytest.raises(BadInput, match="give its class __len__"):
        sampler_of(Endless(), 0, "mine:make")

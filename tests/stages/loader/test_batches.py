import multiprocessing
import os
import subprocess
import sys
from contextlib import suppress
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from patchsets import ENDS_AFTER, Ending, Numbered
from pyscale_stages.errors import BadInput, ResourceExhausted, StageError
from pyscale_stages.loader.batches import (
    VARIABLES,
    EndlessSampler,
    one_thread_each,
    sampler_of,
    threads_here,
    told,
)
from pyscale_stages.loader.run import Crew, oversubscription
from pyscale_stages.loader.stage import LoaderParams
from refusals import refused


def xs(batch):
    return list(map(int, batch["x"]))


def test_a_data_set_that_ends_is_begun_again_and_its_last_batch_may_be_smaller(make_batches):
    batches = make_batches(factory="patchsets:ending", batch_size=ENDS_AFTER)
    assert xs(batches.take()) == xs(batches.take()) == list(range(ENDS_AFTER))
    assert batches.ended == 1
    batches = make_batches(factory="patchsets:ending")
    assert [len(xs(batches.take())) for _ in range(4)] == [4, 4, 2, 4]


@pytest.mark.parametrize("persistent", [True, False])
def test_loader_processes_begin_it_again_too_and_are_kept_or_not(begun, persistent):
    dataset = Ending(["a"], 0, ENDS_AFTER)
    with begun(dataset, persistent_workers=persistent) as (batches, processes):
        assert [xs(batches.take())[0] for _ in range(7)] == [0, 4, 8, 0, 4, 8, 0]
        assert batches.ended == 2
        assert ({*multiprocessing.active_children()} >= processes) == persistent


def test_what_is_none_is_as_torch_has_it(begun):
    chosen = {"start_method": None, "prefetch_factor": None}
    with begun(Numbered(["a"], 0), **chosen) as (batches, processes):
        assert batches.ready_at_most == 2
        assert {type(one) for one in processes} == {multiprocessing.Process}
        assert xs(batches.take()) == [0, 1, 2, 3]


def test_items_with_numbers_are_shuffled_by_the_seed(make_batches):
    def first(seed):
        batches = make_batches(factory="patchsets:pairs", batch_size=20, seed=seed)
        return batches.take()[1].tolist()

    assert first(1) == first(1)
    assert first(1) != first(2)
    assert sorted(first(1)) == list(range(20))


@pytest.fixture
def patient(monkeypatch):
    """Let loader processes take their time to end: torch ends them after seconds, and we too."""
    monkeypatch.setattr("torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL", 400.0)
    monkeypatch.setattr("pyscale_stages.loader.batches.ENDING_S", 400.0)


@pytest.mark.slow
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_loader_processes_are_gone_at_the_end(begun, method):
    with begun(Numbered(["a"], 0), 2, method) as (batches, processes):
        batches.take()
        assert len(processes) == 2
    assert [process.exitcode for process in processes] == [0, 0]


def test_loader_processes_are_gone_after_an_error(begun):
    with pytest.raises(KeyError) as kept, begun(Numbered(["a"], 0)) as (batches, (process,)):
        batches.take()
        raise KeyError(process.pid)
    # What was raised is still held, and with it every frame.
    assert not Path(f"/proc/{kept.value.args[0]}").exists()


def test_loader_processes_have_one_thread_each(begun):
    class Threads(Ending):
        """Tells the threads of the process that loads."""

        def item(self, number):
            """Count them."""
            threads = torch.get_num_threads()
            return {"image": torch.zeros(1, 2, 2), "threads": threads, "pid": os.getpid()}

    with begun(Threads(["a"], 0, 4)) as (batches, _):
        batch = batches.take()
    assert batch["threads"].tolist() == [1] * 4
    assert os.getpid() not in batch["pid"].tolist()


def test_every_item_comes_once_before_any_comes_again_in_an_order_by_the_seed():
    def first(seed, items, count):
        return list(islice(EndlessSampler(items, seed), count))

    drawn = first(1, 5, 15)
    passes = [drawn[0:5], drawn[5:10], drawn[10:15]]
    assert [sorted(one) for one in passes] == [[0, 1, 2, 3, 4]] * 3
    assert passes[0] != passes[1] or passes[1] != passes[2]
    assert first(1, 100, 250) == first(1, 100, 250) != first(2, 100, 250)


def test_a_data_set_with_an_order_of_its_own_keeps_it_and_one_without_length_or_items_is_refused():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(range(3))

    class Endless(Dataset):
        def __getitem__(self, index):
            return index

    assert sampler_of(Stream(), 0, "mine:make") is None
    with refused(BadInput):
        sampler_of(Endless(), 0, "mine:make")
    with refused(BadInput):
        sampler_of(TensorDataset(torch.arange(0)), 0, "mine:make")


PARAMS = LoaderParams(factory="mine:make")


class Failing(IterableDataset[int]):
    def __init__(self, error):
        self.error = error

    def __iter__(self):
        raise self.error


class WithALambda(IterableDataset[int]):
    def __init__(self):
        self.double = lambda value: value * 2

    def __iter__(self):
        yield self.double(1)


def said(dataset, num_workers, start_method="fork"):
    context = start_method if num_workers else None
    loader = DataLoader(dataset, num_workers=num_workers, multiprocessing_context=context)
    with pytest.raises(StageError) as raised, told(PARAMS):
        next(iter(loader))
    assert "\n" not in str(raised.value)
    return raised.value


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize("kind", [BadInput, ResourceExhausted, StageError])
def test_a_sentence_of_a_loader_process_is_that_of_the_rank(kind, num_workers):
    error = said(Failing(kind("slide a.svs is damaged: copy it again")), num_workers)
    assert type(error) is kind
    assert str(error) == "slide a.svs is damaged: copy it again"


@pytest.mark.parametrize("num_workers", [0, 1])
def test_an_error_of_a_users_data_set_is_told_with_its_kind(num_workers, capsys):
    error = said(Failing(ValueError("no such stain")), num_workers)
    assert str(error) == (
        "the dataset of the factory mine:make failed with ValueError (no such stain): see its "
        "messages above"
    )
    assert "Traceback" in capsys.readouterr().err


def test_a_lack_of_memory_and_an_early_end_are_told_apart():
    assert isinstance(said(Failing(MemoryError()), 0), ResourceExhausted)
    with refused(BadInput), told(PARAMS):
        next(iter([]))


def test_a_data_set_that_cannot_be_sent_serves_forked_processes_and_is_told_of_others():
    error = said(WithALambda(), 1, "spawn")
    assert isinstance(error, BadInput)
    assert "cannot be sent to loader processes" in str(error)
    assert "--grid start_method=fork" in str(error)
    loader = DataLoader(WithALambda(), num_workers=1, multiprocessing_context="fork")
    with told(PARAMS):
        assert next(iter(loader)).tolist() == [2]


def test_a_loader_process_that_dies_at_the_very_end_takes_nothing_back(begun):
    with begun(Numbered(["a"], 0)) as (batches, (process,)):
        taken = xs(batches.take())
        # Torch's handler raises it here or within the end of the block.
        with suppress(RuntimeError):
            process.kill()
            process.join()
    assert taken == [0, 1, 2, 3]


FOUR_CPUS = (0, 1, 2, 3)


def test_threads_are_one_inside_and_as_before_afterwards(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.delenv("BLOSC_NTHREADS", raising=False)
    torch.set_num_threads(2)
    with one_thread_each():
        assert threads_here().startswith("OMP_NUM_THREADS 1, MKL_NUM_THREADS 1, torch 1")
        assert torch.get_num_threads() == 1
        assert {os.environ[name] for name in VARIABLES} == {"1"}
    assert torch.get_num_threads() == 2
    assert os.environ["OMP_NUM_THREADS"] == "2"
    assert "BLOSC_NTHREADS" not in os.environ
    torch.set_num_threads(1)


def test_opencv_has_one_thread_whether_imported_before_or_after():
    cv2 = pytest.importorskip("cv2")
    before = cv2.getNumThreads()
    try:
        with one_thread_each():
            assert threads_here().endswith("OpenCV 1")
            assert cv2.getNumThreads() == 1
            later = subprocess.run(
                [sys.executable, "-c", "import cv2; print(cv2.getNumThreads())"],
                check=True,
                capture_output=True,
                text=True,
            )
            assert later.stdout.strip() == "1"
    finally:
        cv2.setNumThreads(before)


CREWS = {
    "enough": ([Crew("n1", FOUR_CPUS, 4, 4)], ""),
    # The rank needs a core beside its loader processes.
    "one too many": (
        [Crew("n1", FOUR_CPUS, 4, 5)],
        "4 loader processes are 5 processes on 4 usable cores",
    ),
    "own cores": ([Crew("n1", (0, 1), 2, 2), Crew("n1", (2, 3), 2, 2)], ""),
    "shared cores": ([Crew("n1", FOUR_CPUS, 4, 3)] * 2, "2 ranks on n1"),
    "granted a part": ([Crew("n1", FOUR_CPUS, 2, 3)], "3 processes on 2 usable cores"),
    # They have all of the same cores.
    "granted parts": ([Crew("n1", FOUR_CPUS, 2, 2)] * 2, ""),
    "another node": ([Crew("n1", FOUR_CPUS, 4, 4), Crew("n2", FOUR_CPUS, 4, 9)], ""),
}


@pytest.mark.parametrize(("crews", "said"), CREWS.values(), ids=CREWS)
def test_a_node_with_too_few_cores_is_warned_of(crews, said):
    found = oversubscription(crews, "n1")
    assert said in found
    assert bool(found) == bool(said)

"""What goes wrong in loader processes, told in one sentence by the rank."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from torch.utils.data import DataLoader, IterableDataset

from pyscale_stages.errors import BadInput, ResourceExhausted, StageError
from pyscale_stages.loader.batches import told
from pyscale_stages.loader.params import LoaderParams

PARAMS = LoaderParams(factory="mine:make")


class Failing(IterableDataset[int]):
    def __init__(self, error: Exception) -> None:
        self.error = error

    def __iter__(self) -> Iterator[int]:
        raise self.error


class Killed(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield 0


class WithALambda(IterableDataset[int]):
    def __init__(self) -> None:
        self.double = lambda value: value * 2

    def __iter__(self) -> Iterator[int]:
        yield self.double(1)


def said(dataset: IterableDataset[int], num_workers: int, start_method: str = "fork") -> StageError:
    context: Any = start_method if num_workers else None
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


def test_memory_that_ran_out_is_no_defect_of_the_data_set():
    assert isinstance(said(Failing(MemoryError()), 0), ResourceExhausted)


def test_a_loader_process_that_dies_is_told():
    assert "a loader process of the factory mine:make died" in str(said(Killed(), 1))


def test_a_data_set_that_cannot_be_sent_is_told_with_the_ways_out():
    error = said(WithALambda(), 1, "spawn")
    assert isinstance(error, BadInput)
    assert "cannot be sent to loader processes" in str(error)
    assert "--grid start_method=fork" in str(error)


def test_a_data_set_that_cannot_be_sent_serves_forked_processes():
    loader = DataLoader(WithALambda(), num_workers=1, multiprocessing_context="fork")
    with told(PARAMS):
        assert next(iter(loader)).tolist() == [2]


def test_a_data_set_that_ends_too_early_is_told():
    with pytest.raises(BadInput, match="ended before all batches were timed"), told(PARAMS):
        next(iter([]))

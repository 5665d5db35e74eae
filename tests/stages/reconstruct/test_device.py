"""What ranks compute on, and which may compute together."""

from __future__ import annotations

import pytest
import torch

from pyscale_stages.errors import BadInput, MissingPart, StageError
from pyscale_stages.reconstruct.device import (
    Report,
    memory_peak_bytes,
    memory_total_bytes,
    prepared,
    refuse_unequal,
)
from pyscale_stages.reconstruct.place import Place

GIB = 2**30


def report(
    rank: int, memory_gib: float, uuid: str = "", weights: str = "random", asked: str = "{}"
) -> Report:
    place = Place(rank, 3, f"node{rank // 2}")
    return Report(place, "V100", uuid, int(memory_gib * GIB), weights, asked)


def test_a_processor_takes_the_threads_it_is_given_and_tells_its_memory() -> None:
    before = torch.get_num_threads()
    try:
        device = prepared("cpu", rank=0, threads=1)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    assert 0 < memory_peak_bytes(device) < memory_total_bytes(device)


def test_single_precision_is_not_shortened_whatever_was_set_before() -> None:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    prepared("cpu", rank=0, threads=torch.get_num_threads())
    assert not torch.backends.cuda.matmul.allow_tf32
    assert not torch.backends.cudnn.allow_tf32


def test_a_device_between_which_nothing_is_exchanged_is_refused() -> None:
    with pytest.raises(BadInput, match="cannot run on the device mps"):
        prepared("mps", rank=0, threads=1)


@pytest.mark.skipif(torch.cuda.is_available(), reason="an NVIDIA GPU works here")
def test_a_gpu_that_does_not_work_is_missing() -> None:
    with pytest.raises(MissingPart, match="the device cuda does not work here"):
        prepared("cuda", rank=0, threads=1)


def test_gpus_of_unequal_memory_are_refused_with_rank_and_node() -> None:
    with pytest.raises(StageError, match=r"^rank 2 of 3 on node1 has 16\.0 GiB \(V100\), but rank"):
        refuse_unequal([report(0, 32, "a"), report(1, 31, "b"), report(2, 16, "a")])


def test_gpus_whose_memory_differs_by_more_than_a_tenth_are_refused() -> None:
    with pytest.raises(StageError, match=r"rank 1 of 3 on node0 has 28\.0 GiB"):
        refuse_unequal([report(0, 32, "a"), report(1, 28, "b")])


def test_gpus_whose_memory_differs_by_less_than_a_tenth_may_share_an_image() -> None:
    refuse_unequal([report(0, 32, "a"), report(1, 29, "b"), report(2, 30, "a")])


def test_one_gpu_of_two_ranks_is_refused() -> None:
    with pytest.raises(StageError, match="rank 1 of 3 on node0 and rank 0 have the same V100"):
        refuse_unequal([report(0, 32, "a"), report(1, 32, "a")])


def test_processors_may_be_unequal_but_weights_may_not() -> None:
    refuse_unequal([report(0, 32), report(1, 8)])
    with pytest.raises(BadInput, match="rank 1 of 3 on node0 has w \\(2\\): give all ranks one"):
        refuse_unequal([report(0, 8, weights="w (1)"), report(1, 8, weights="w (2)")])


def test_ranks_that_were_asked_for_something_else_are_refused() -> None:
    with pytest.raises(
        BadInput, match="^rank 0 of 3 on node0 and rank 2 of 3 on node1 have different"
    ):
        refuse_unequal([report(0, 8), report(1, 8), report(2, 8, asked='{"iterations": 9}')])

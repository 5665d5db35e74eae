"""What ranks compute on, and which may compute together."""

from __future__ import annotations

import pytest
import torch

from pyscale_stages.errors import BadInput, MissingPart, StageError
from pyscale_stages.reconstruct.device import (
    Place,
    Report,
    memory_peak_bytes,
    memory_total_bytes,
    prepared,
    refuse_unequal,
)

GIB = 2**30


def report(
    rank: int, memory_gib: float, uuid: str = "", weights: str = "random", asked: str = "{}"
) -> Report:
    place = Place(rank, 3, f"node{rank // 2}")
    return Report(place, "V100", uuid, int(memory_gib * GIB), weights, asked)


def test_a_processor_takes_the_threads_it_is_given_and_tells_its_memory():
    before = torch.get_num_threads()
    try:
        device = prepared("cpu", rank=0, threads=1)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    assert 0 < memory_peak_bytes(device) < memory_total_bytes(device)


def test_single_precision_is_not_shortened_whatever_was_set_before():
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    prepared("cpu", rank=0, threads=torch.get_num_threads())
    assert not torch.backends.cuda.matmul.allow_tf32
    assert not torch.backends.cudnn.allow_tf32


def test_a_device_between_which_nothing_is_exchanged_is_refused():
    with pytest.raises(BadInput, match="cannot run on the device mps"):
        prepared("mps", rank=0, threads=1)


@pytest.mark.skipif(torch.cuda.is_available(), reason="an NVIDIA GPU works here")
def test_a_gpu_that_does_not_work_is_missing():
    with pytest.raises(MissingPart, match="the device cuda does not work here"):
        prepared("cuda", rank=0, threads=1)


@pytest.mark.parametrize(
    "reports",
    [
        # GPUs may differ by less than a tenth, and processors by anything.
        [report(0, 32, "a"), report(1, 29, "b"), report(2, 30, "a")],
        [report(0, 32), report(1, 8)],
    ],
    ids=["GPUs", "processors"],
)
def test_nearly_equal_devices_may_share_an_image(reports):
    refuse_unequal(reports)


@pytest.mark.parametrize(
    ("reports", "kind", "said"),
    [
        (
            [report(0, 32, "a"), report(1, 31, "b"), report(2, 16, "a")],
            StageError,
            r"^rank 2 of 3 on node1 has 16\.0 GiB \(V100\), but rank",
        ),
        (
            [report(0, 32, "a"), report(1, 28, "b")],
            StageError,
            r"rank 1 of 3 on node0 has 28\.0 GiB",
        ),
        (
            [report(0, 32, "a"), report(1, 32, "a")],
            StageError,
            "rank 1 of 3 on node0 and rank 0 have the same V100",
        ),
        (
            [report(0, 8, weights="w (1)"), report(1, 8, weights="w (2)")],
            BadInput,
            r"rank 1 of 3 on node0 has w \(2\): give all ranks one",
        ),
        (
            [report(0, 8), report(1, 8), report(2, 8, asked='{"iterations": 9}')],
            BadInput,
            "^rank 0 of 3 on node0 and rank 2 of 3 on node1 have different",
        ),
    ],
    ids=["half the memory", "a tenth less", "one GPU", "weights", "parameters"],
)
def test_ranks_that_differ_are_refused_with_rank_and_node(reports, kind, said):
    with pytest.raises(kind, match=said):
        refuse_unequal(reports)

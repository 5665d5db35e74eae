import re

import pytest
import torch

from pyscale_stages.errors import BadInput, ResourceExhausted
from pyscale_stages.ranks.rank_failure import LostRank
from pyscale_stages.reconstruct import device
from pyscale_stages.reconstruct.device import (
    Place,
    Report,
    memory_peak_bytes,
    memory_total_bytes,
    prepared,
    refuse_unequal,
    told,
)
from pyscale_stages.reconstruct.stage import ReconstructParams
from refusals import refused


def report(rank, uuid="", weights="random", asked="{}"):
    return Report(Place(rank, 3, f"node{rank // 2}"), "V100", uuid, weights, asked)


def test_a_processor_takes_the_threads_it_is_given_and_shortens_no_single_precision():
    before = torch.get_num_threads()
    try:
        processor = prepared("cpu", rank=0, threads=before + 1)
        assert torch.get_num_threads() == before + 1
    finally:
        torch.set_num_threads(before)
    assert 0 < memory_peak_bytes(processor) < memory_total_bytes(processor)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    prepared("cpu", rank=0, threads=torch.get_num_threads())
    assert not torch.backends.cuda.matmul.allow_tf32
    assert not torch.backends.cudnn.allow_tf32


@pytest.mark.parametrize(
    ("number_on_node", "rank", "visible", "number"),
    [("2", 6, 4, 2), (None, 5, 4, 1), ("3", 3, 1, 0)],
    ids=["by the scheduler's number", "by its own number", "the only one that it sees"],
)
def test_a_rank_computes_on_a_gpu_of_its_own(monkeypatch, number_on_node, rank, visible, number):
    monkeypatch.delenv(device.LOCAL_RANK_VARIABLE, raising=False)
    if number_on_node is not None:
        monkeypatch.setenv(device.LOCAL_RANK_VARIABLE, number_on_node)
    taken = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: visible)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    monkeypatch.setattr(device, "require_working", lambda _device: None)
    own = torch.device("cuda", number)
    assert prepared("cuda", rank, torch.get_num_threads()) == own
    # What asks for no device by its number, as NCCL does, takes the same.
    assert taken == [own]


def test_a_gpu_each_or_the_processors_of_a_node_may_share_an_image():
    refuse_unequal([report(0, "a"), report(1, "b"), report(2, "a")])
    refuse_unequal([report(0), report(1)])


@pytest.mark.parametrize(
    "reports",
    [
        [report(0, "a"), report(1, "a")],
        [report(0, weights="w (1)"), report(1, weights="w (2)")],
        [report(0), report(1), report(2, asked='{"iterations": 9}')],
    ],
    ids=["one GPU", "weights", "parameters"],
)
def test_ranks_that_differ_are_refused_with_rank_and_node(reports):
    with refused(BadInput):
        refuse_unequal(reports)


PLACE = Place(1, 4, "node7")


def exhaust(place, **given):
    """Ask torch for more memory than any machine has."""
    with pytest.raises(ResourceExhausted) as raised, told(place, ReconstructParams(**given)):
        torch.empty(1 << 50)
    return str(raised.value)


def test_memory_that_ran_out_is_told_with_rank_node_and_what_can_be_lowered():
    said = exhaust(PLACE, tiles_at_once=4)
    assert re.match(r"memory ran out \(.*can't allocate memory.*\) in rank 1 of 4 on node7: ", said)
    assert said.endswith(
        "lower tiles_at_once (4), tile_px (448) or size_px (256), or give each rank more memory"
    )
    assert "tiles_at_once" not in exhaust(PLACE)
    alone = exhaust(Place(0, 1, "node7"))
    assert "lower size_px (256), start several ranks, which cut the image into tiles" in alone


def test_an_error_that_a_user_can_act_on_is_told_with_its_place():
    with (
        refused(BadInput),
        told(PLACE, ReconstructParams()),
    ):
        raise BadInput("no such weights")


@pytest.mark.parametrize("error", [LostRank("rank 2 is gone"), ZeroDivisionError("by nought")])
def test_a_lost_rank_and_a_defect_stay_as_they_are(error):
    with pytest.raises(type(error)) as raised, told(PLACE, ReconstructParams()):
        raise error
    assert raised.value is error

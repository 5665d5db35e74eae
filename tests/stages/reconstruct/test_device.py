import re

import pytest
import torch

from pyscale_stages.errors import BadInput, ResourceExhausted
from pyscale_stages.ranks.group import Group
from pyscale_stages.ranks.rank_failure import LostRank
from pyscale_stages.reconstruct import device
from pyscale_stages.reconstruct.device import (
    memory_peak_bytes,
    memory_total_bytes,
    prepared,
    refuse_unequal,
    told,
)
from refusals import refused


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


class Gathered(Group):
    """Ranks of which the others have told something."""

    def __init__(self, *others):
        super().__init__(0, 1)
        self.others = others

    def all_gather(self, value):
        """Give what this rank tells, and with what the others differ from it."""
        return [value, *(value | other for other in self.others)]


def refuse(*others):
    refuse_unequal(Gathered(*others), "rank 0 of 3 on node0", torch.device("cpu"), "0")


def test_a_gpu_each_or_the_processors_of_a_node_may_share_an_image():
    refuse({"gpu": "node0 a"}, {"gpu": "node0 b"}, {"gpu": "node1 a"})
    refuse({}, {})


@pytest.mark.parametrize("others", [[{"gpu": "a"}] * 2, [{}, {"asked": "1"}]], ids=["GPU", "asked"])
def test_ranks_that_differ_are_refused(others):
    with refused(BadInput):
        refuse(*others)


PLACE = "rank 1 of 4 on node7"


def test_memory_that_ran_out_is_told_with_rank_node_and_what_can_be_lowered():
    with pytest.raises(ResourceExhausted) as raised, told(PLACE):
        # More than any machine has.
        torch.empty(1 << 50)
    said = str(raised.value)
    assert re.match(r"memory ran out \(.*can't allocate memory.*\) in rank 1 of 4 on node7: ", said)
    assert "lower size_px, tile_px or tiles_at_once" in said


def test_an_error_that_a_user_can_act_on_is_told_with_its_place():
    with (
        refused(BadInput),
        told(PLACE),
    ):
        raise BadInput("no such weights")


@pytest.mark.parametrize("error", [LostRank("rank 2 is gone"), ZeroDivisionError("by nought")])
def test_a_lost_rank_and_a_defect_stay_as_they_are(error):
    with pytest.raises(type(error)) as raised, told(PLACE):
        raise error
    assert raised.value is error

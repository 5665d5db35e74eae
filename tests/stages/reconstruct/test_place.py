"""Errors of a rank, with the place where they arose."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from pyscale_stages.errors import BadInput, ResourceExhausted
from pyscale_stages.ranks.rank_failure import LostRank
from pyscale_stages.reconstruct.device import Place, told
from pyscale_stages.reconstruct.params import ReconstructParams

PLACE = Place(1, 4, "node7")


def exhaust(place: Place, **given: Any) -> str:
    """Ask torch for more memory than any machine has."""
    with pytest.raises(ResourceExhausted) as raised, told(place, ReconstructParams(**given)):
        torch.empty(1 << 50)
    return str(raised.value)


def test_memory_that_ran_out_is_told_with_rank_node_and_what_to_lower():
    said = exhaust(PLACE, tiles_at_once=4)
    assert re.match(r"memory ran out \(.*can't allocate memory.*\) in rank 1 of 4 on node7: ", said)
    assert said.endswith(
        "lower tiles_at_once (4), tile_px (448) or size_px (256), or give each rank more memory"
    )


def test_what_cannot_be_lowered_is_not_named():
    assert "tiles_at_once" not in exhaust(PLACE)
    alone = exhaust(Place(0, 1, "node7"))
    assert "lower size_px (256), start several ranks, which cut the image into tiles" in alone


def test_an_error_that_a_user_can_act_on_is_told_with_its_place():
    with (
        pytest.raises(BadInput, match="^rank 1 of 4 on node7: no such weights$"),
        told(PLACE, ReconstructParams()),
    ):
        raise BadInput("no such weights")


@pytest.mark.parametrize("error", [LostRank("rank 2 is gone"), ZeroDivisionError("by nought")])
def test_a_lost_rank_and_a_defect_stay_as_they_are(error):
    with pytest.raises(type(error)) as raised, told(PLACE, ReconstructParams()):
        raise error
    assert raised.value is error

"""A suite with expected results does the work that they come from, or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyscale.errors import UserError
from pyscale.plan import Plan
from pyscale.suite import load_suite
from pyscale.validation.fixed import refuse_other_work

PlanMaker = Callable[..., Plan]


def test_the_suite_as_it_is_passes(plan: PlanMaker) -> None:
    refuse_other_work(plan(workers=(1, 2)))


def test_what_decides_no_result_may_be_chosen(plan: PlanMaker) -> None:
    chosen = {"contact": {"kernel_cache": "user"}, "segment": {"calls": 2}}
    refuse_other_work(plan(stages=chosen, repeats=6, cpus_per_worker=2))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"data": "mine"}, "the data is mine instead of validation-cells"),
        ({"seed": 3}, "the seed is 3 instead of 0"),
        ({"scaling": "weak"}, "scaling is weak"),
        ({"stages": {"segment": {"flow_threshold": 0.9}}}, "flow_threshold of segment is 0.9"),
        ({"stages": {"segment": {"diameter_px": 30}}}, "diameter_px of segment is 30.0 instead of"),
        ({"stages": {"track": {"overlap_frames": 4}}}, "overlap_frames of track is 4 instead of"),
    ],
)
def test_other_work_is_named_and_refused(
    plan: PlanMaker, changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(UserError, match=told):
        refuse_other_work(plan(**changes))


def test_a_suite_that_expects_nothing_may_have_any_parameter(
    make_of: Callable[..., Plan],
) -> None:
    changed = {"segment": {"flow_threshold": 0.9}}
    refuse_other_work(make_of(load_suite("pipeline"), stages=changed, seed=3))

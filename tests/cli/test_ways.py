"""What holding one job costs beside jobs for each trial."""

from __future__ import annotations

import pytest

from mockruns import PlanMaker
from pyscale.analysis.spending import Prices
from pyscale.plan import Plan
from pyscale.sbatch.held import held_by
from pyscale.sites import Site
from pyscale.ways import Way, ways

SITE = Site.model_validate({"name": "mine", "summary": "a cluster", "request": {"time_min": 60}})
HOUR_S = 3600.0


@pytest.fixture
def plan(make: PlanMaker) -> Plan:
    """One stage at N = 1 and 4, once."""
    return make(only=("register_denoise",), workers=(1, 4), repeats=1)


def both(plan: Plan, hours: float | None, longest_min: int = 720) -> tuple[Way, Way]:
    known = {} if hours is None else {trial.id: hours * HOUR_S for trial in plan.trials}
    return ways(plan, SITE, held_by(plan, SITE), known, longest_min=longest_min)


def test_small_n_leave_cores_of_the_largest_idle(plan):
    hold, each = both(plan, hours=1)
    assert (hold.used_core_hours, hold.idle_core_hours) == (5, 3)
    assert (each.used_core_hours, each.idle_core_hours) == (5, 0)
    assert (hold.jobs, hold.waits) == (1, 1)
    # N = 1: its window. N = 4: four windows, their merge and its check.
    assert (each.jobs, each.waits) == (1 + 6, 1 + 3)


def test_a_wait_is_paid_for_once_or_for_every_job(plan):
    hold, each = both(plan, hours=1)
    assert hold.lasts_s(60) == 3 * HOUR_S
    assert each.lasts_s(60) == 6 * HOUR_S


def test_trials_that_take_longer_than_one_job_may_need_several(plan):
    hold, _ = both(plan, hours=1, longest_min=90)
    assert hold.jobs == hold.waits == 2


def test_unknown_trials_last_as_long_as_their_limits_let_them(plan):
    hold, _ = both(plan, hours=None)
    assert hold.work_s == 4 * HOUR_S
    assert hold.jobs == 1, "as many as are submitted"


@pytest.mark.parametrize(
    ("prices", "money"),
    [(Prices(core_hour=2, currency="EUR"), 16), (Prices(), None)],
)
def test_what_is_idle_is_paid_for(plan, prices, money):
    hold, _ = both(plan, hours=1)
    assert hold.money(prices) == money


@pytest.mark.parametrize(("node_cores", "idle"), [(8, (11, 35)), (None, (None, None))])
def test_a_job_that_has_its_nodes_for_itself_holds_all_their_cores(plan, node_cores, idle):
    alone = SITE.model_copy(update={"request": SITE.request.model_copy(update={"exclusive": True})})
    known = {trial.id: HOUR_S for trial in plan.trials}
    held = held_by(plan, alone)
    hold, each = ways(plan, alone, held, known, longest_min=720, node_cores=node_cores)
    assert (hold.idle_core_hours, each.idle_core_hours) == idle

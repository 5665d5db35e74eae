"""What a run costs: at most, and what one job for all trials costs beside jobs for each."""

from __future__ import annotations

import pytest

import mockruns
from pyscale.analysis.spending import Prices
from pyscale.evaluation.cost import StageCost, costs, money, prices_of, times_of, total, ways
from pyscale.sbatch.held import held_trials

ONLY = ("contact",)


def site(**request):
    return mockruns.site(request=request)


def nobody_asks(partition):
    raise AssertionError("a job that shares its node holds what it asks for alone")


def cost_of(plan, place, entry="contact"):
    return next(cost for cost in costs(plan, place, nobody_asks) if cost.entry == entry)


def test_every_job_counts_with_its_cores_and_its_whole_time(make):
    plan = make(only=ONLY, repeats=2)
    cost = cost_of(plan, site(cpus=3, time_min=30))
    # Twice N = 1: a window, the second time also a check. Twice N = 2: windows, merge, check.
    jobs = 1 + 2 + 2 * (2 + 1 + 1)
    assert cost == StageCost(entry="contact", jobs=jobs, core_hours=jobs * 1.5, gpu_hours=0)


def test_a_gang_costs_what_its_array_would_in_fewer_jobs(make):
    array, gang = (
        cost_of(make(only=ONLY, repeats=1, layout=layout), site()) for layout in ("array", "gang")
    )
    assert array.core_hours == gang.core_hours == 1 + 2 + 1 + 1
    assert (array.jobs, gang.jobs) == (5, 4)
    # More windows than workers each have the time of a job.
    several = make(only=ONLY, repeats=1, workers=(2,), chunks_per_worker=4)
    assert cost_of(several, site()).jobs == 8 + 1


def test_a_trial_holds_the_cores_of_its_own_threads_and_gpus_for_its_windows_alone(make):
    plan = make(only=ONLY, repeats=1, workers=(1,))
    wide = tuple(trial.model_copy(update={"threads": 3}) for trial in plan.trials)
    cost = cost_of(plan.model_copy(update={"trials": wide}), site(time_min=60))
    assert cost.core_hours == 3
    plan = make(only=ONLY, repeats=1, device="cuda")
    assert cost_of(plan, site(gpus=2, time_min=60)).gpu_hours == 2 * (1 + 2)


def test_a_job_that_has_its_node_for_itself_holds_all_of_its_cores(make):
    plan = make(only=ONLY, repeats=1, workers=(1,))
    asked: list[str | None] = []

    def node_cores(partition):
        asked.append(partition)
        return 64

    (_, contact) = costs(plan, site(exclusive=True, cpus=2, partition="day"), node_cores)[-2:]
    assert contact.core_hours == 64
    assert set(asked) == {"day"}


def test_ranks_that_share_nodes_hold_whole_ones_and_the_gpus_of_each(make):
    plan = make(only=ONLY, repeats=1, workers=(6,), layout="gang", device="cuda")
    shared = site(tasks_per_node=4, gpus=1, time_min=60)
    # Two nodes of four, the merge and nothing to compare: its GPUs stay with the windows.
    assert cost_of(plan, shared).gpu_hours == 8
    alone = site(tasks_per_node=4, exclusive=True, time_min=60)
    (contact,) = [one for one in costs(plan, alone, lambda _: 64) if one.entry == "contact"]
    assert contact.core_hours == 64 * (2 + 1)


@pytest.mark.parametrize("entries", [("contact",), ("segment", "contact")])
def test_the_total_is_the_sum_of_the_stages_and_unknown_where_one_is(make, entries):
    plan = make(only=entries, repeats=3)
    found = costs(plan, site(), nobody_asks)
    whole = total("total", found)
    assert whole.jobs == sum(cost.jobs for cost in found)
    assert whole.core_hours == sum(cost.core_hours or 0 for cost in found)
    found = costs(plan, site(exclusive=True), lambda _: None)
    assert {cost.core_hours for cost in (*found, total("total", found))} == {None}


EURO = Prices(core_hour=0.5, gpu_hour=2, currency="EUR")


@pytest.mark.parametrize(
    ("core_hours", "gpu_hours", "prices", "price"),
    [
        (10, 3, EURO, 5 + 6),
        (10, 0, Prices(core_hour=0.5, currency="EUR"), 5),
        (0, 3, Prices(gpu_hour=2, currency="EUR"), 6),
        (10, 3, Prices(core_hour=0.5, currency="EUR"), None),
        (None, 3, EURO, None),
        (10, 0, Prices(), None),
    ],
)
def test_money_is_known_where_all_that_is_held_has_a_price(core_hours, gpu_hours, prices, price):
    cost = StageCost(entry="segment", jobs=1, core_hours=core_hours, gpu_hours=gpu_hours)
    assert money(cost, prices) == price


def test_a_cluster_has_its_own_prices_and_a_machine_those_of_the_settings(make):
    plan = make(only=ONLY, repeats=1, prices=EURO.model_dump())
    assert prices_of(plan) == EURO
    cheap = Prices(core_hour=0.1, currency="EUR")
    on_site = site().model_copy(update={"prices": cheap})
    assert prices_of(plan.model_copy(update={"site": on_site})) == cheap
    # A plan from before there were prices has none.
    old = {name: value for name, value in plan.settings.items() if name != "prices"}
    assert not prices_of(plan.model_copy(update={"settings": old})).is_given


SITE = site(time_min=60)
HOUR_S = 3600.0


@pytest.fixture
def two(make):
    """One stage at N = 1 and 4, once."""
    return make(only=("register_denoise",), workers=(1, 4), repeats=1)


def both(plan, hours, place=SITE, node_cores=None):
    known = {} if hours is None else {trial.id: hours * HOUR_S for trial in plan.trials}
    return ways(plan, place, held_trials(plan, place), known, lambda _partition: node_cores)


def test_small_n_leave_cores_of_the_largest_idle_which_are_paid_for(two):
    hold, each = both(two, hours=1)
    assert (hold.used_core_hours, hold.idle_core_hours) == (5, 3)
    assert (each.used_core_hours, each.idle_core_hours) == (5, 0)
    assert money(hold, Prices(core_hour=2, currency="EUR")) == 16
    assert money(hold, Prices()) is None


def test_a_wait_is_paid_for_once_or_for_every_job(two):
    hold, each = both(two, hours=1)
    assert (hold.jobs, hold.waits) == (1, 1)
    # N = 1: its window. N = 4: four windows, their merge and its check.
    assert (each.jobs, each.waits) == (1 + 6, 1 + 3)
    assert (hold.lasts_s(60), each.lasts_s(60)) == (3 * HOUR_S, 6 * HOUR_S)
    # Trials that take longer than one job may need several.
    hold, _ = both(two, hours=1, place=site(time_min=60, hold_limit_hours=1.5))
    assert hold.jobs == hold.waits == 2
    # Unknown ones last as long as their limits let them, in one job where that is submitted.
    hold, _ = both(two, hours=None)
    assert (hold.work_s, hold.jobs) == (4 * HOUR_S, 1)


@pytest.mark.parametrize(
    ("request_", "minutes"),
    [
        ({"time_min": 60}, 245),
        ({"time_min": 60, "hold_limit_hours": 2}, 120),
        ({"time_min": 60, "qos": "short"}, 10),
        ({"time_min": 2}, 15),
    ],
    ids=["limits", "the site's own limit", "the QOS's", "a short one"],
)
def test_a_job_whose_trials_were_never_timed_lasts_as_long_as_their_limits_let_them(
    two, put_on_path, request_, minutes
):
    put_on_path(sinfo="echo 'day*'", sacctmgr="echo '00:10:00|DenyOnLimit'")
    place = site(**request_)
    # N = 1: its window. N = 4: its windows at once, then their merge and its check.
    (one,) = held_trials(two, place)
    assert times_of(two, place, two.trials, one.held) == (minutes,)


@pytest.mark.parametrize(("node_cores", "idle"), [(8, (11, 35)), (None, (None, None))])
def test_a_job_that_has_its_nodes_for_itself_holds_all_their_cores(two, node_cores, idle):
    alone = SITE.model_copy(update={"request": SITE.request.model_copy(update={"exclusive": True})})
    hold, each = both(two, 1, alone, node_cores)
    assert (hold.idle_core_hours, each.idle_core_hours) == idle

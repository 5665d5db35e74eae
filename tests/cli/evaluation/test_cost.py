"""What a run on a cluster holds, uses and leaves idle, and how long its jobs may last."""

from __future__ import annotations

import pytest

import mockruns
from pyscale.analysis.spending import Prices
from pyscale.evaluation.cost import Holding, holding, money, prices_of, time_of
from pyscale.evaluation.results import analysed
from pyscale.report.context import ReportContext
from pyscale.sbatch.held import held_trials

ONLY = ("contact",)


def site(**request):
    return mockruns.site(request=request)


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
    hours = {"used_core_hours": 0, "idle_core_hours": core_hours, "gpu_hours": gpu_hours}
    cost = Holding(jobs=1, idle_gpu_hours=0, work_s=60, **hours)
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


def cost_of(plan, hours, place=SITE, node_cores=None):
    known = {} if hours is None else {trial.id: hours * HOUR_S for trial in plan.trials}
    return holding(plan, place, known, lambda _partition: node_cores)


def test_small_n_leave_cores_of_the_largest_idle_which_are_paid_for(two):
    cost = cost_of(two, hours=1)
    assert (cost.used_core_hours, cost.idle_core_hours) == (5, 3)
    assert money(cost, Prices(core_hour=2, currency="EUR")) == 16
    assert money(cost, Prices()) is None


def test_gpus_idle_while_few_workers_run_and_never_in_jobs_of_other_stages(make):
    plan = make(only=("segment",), workers=(1, 4), repeats=1, device="cuda")
    cost = cost_of(plan, 1, site(gpus=1))
    registered = sum(trial.device == "cpu" for trial in plan.trials)
    assert registered > 0
    assert (cost.gpu_hours, cost.idle_gpu_hours) == (8, 3)
    assert cost.jobs == 2


def test_a_job_takes_its_trials_one_after_the_other(two):
    cost = cost_of(two, hours=1)
    assert (cost.jobs, cost.work_s) == (1, 2 * HOUR_S)
    # Trials that take longer than one job may need several.
    assert cost_of(two, hours=1, place=site(time_min=60, hold_limit_hours=1.5)).jobs == 2
    # Unknown ones last as long as their limits let them, in one job where that is submitted.
    unknown = cost_of(two, hours=None)
    assert (unknown.work_s, unknown.jobs) == (4 * HOUR_S, 1)


@pytest.mark.parametrize(
    ("request_", "minutes"),
    [
        ({"time_min": 60}, 245),
        ({"time_min": 60, "hold_limit_hours": 2}, 120),
        ({"time_min": 60, "options": ["--qos=short"]}, 10),
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
    assert time_of(two, place, two.trials, one) == minutes


@pytest.mark.parametrize(("hours", "minutes"), [(0.01, 15), (1, 180), (6, 720)])
def test_a_job_asks_for_half_more_than_its_trials_took_or_what_it_may(
    two, monkeypatch, hours, minutes
):
    known = {trial.id: hours * HOUR_S for trial in two.trials}
    monkeypatch.setattr("pyscale.evaluation.cost.usual_s", lambda _plan: known)
    place = site(hold_limit_hours=12)
    (one,) = held_trials(two, place)
    assert time_of(two, place, two.trials, one) == minutes


@pytest.mark.parametrize(("node_cores", "idle"), [(8, 11), (None, None)])
def test_a_job_that_has_its_nodes_for_itself_holds_all_their_cores(two, node_cores, idle):
    request = SITE.request.model_copy(update={"options": ("--exclusive",)})
    alone = SITE.model_copy(update={"request": request})
    assert cost_of(two, 1, alone, node_cores).idle_core_hours == idle


CONTEXT = ReportContext(title="a run")
TWO_CORES = {"segment": 2}


def two_workers(new_run, **asked):
    """An hour by one worker, and half an hour by each of two, of 80 frames."""
    return new_run().curve("segment", lambda n, _: 3600.0 / n, blocks=1, **asked).trials


@pytest.mark.parametrize(
    ("ran", "core_hours", "gpu_hours"),
    [
        ({"device": "cpu"}, 2, 0),
        ({"device": "cuda"}, 2, 1),
        ({"oversubscribed": True}, None, None),
    ],
)
def test_workers_on_one_machine_hold_what_they_had_for_themselves(
    new_run, ran, core_hours, gpu_hours
):
    results = analysed(two_workers(new_run, **ran), CONTEXT, held="machine", own_cpus=TWO_CORES)
    table = results.configurations
    assert table["core_hours"].to_list() == [core_hours] * 2
    assert table["gpu_hours"].to_list() == [gpu_hours] * 2
    # Nobody was asked for them, so nothing could be lowered.
    assert table["requested_cpus"].null_count() == 2

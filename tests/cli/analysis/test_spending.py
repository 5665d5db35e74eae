"""What was asked for stands beside what was used, and what is asked for follows from it."""

import polars as pl
import pytest

from pyscale.analysis.advice import Aim, choices
from pyscale.analysis.resource_request import GIB, request_of, requested_and_used
from pyscale.analysis.scaling import configurations
from pyscale.analysis.spending import COSTS, Prices, configuration_costs, trial_costs, with_costs
from pyscale.analysis.trials import trial_table
from pyscale.analysis.walltimes import trials_from_wall_times
from runbuilder import RunBuilder

EURO = Prices(core_hour=0.02, gpu_hour=1.5, currency="EUR")


def two_workers(new_run):
    """One hour beside half an hour, and 6 minutes of merge, on 8 cores each."""
    builder = new_run().trial("segment", [{"compute": 5400.0}], requested_cpus=8)
    builder.trial(
        "segment",
        [{"compute": 3600.0}, {"compute": 1800.0}],
        merge={"merge": 360.0},
        requested_cpus=8,
    )
    return builder.trials


def priced(rows):
    """Trials of (workers, wall time), each worker with 4 cores and one GPU, all held to the end."""
    builder = RunBuilder()
    for block, (workers, wall_s) in enumerate(rows):
        held = {"device": "cuda", "requested_cpus": 4, "requested_gpus": 1}
        builder.trial("segment", [{"compute": float(wall_s)}] * workers, block=block, **held)
    return trial_costs(builder.trials, "machine", EURO)


@pytest.mark.parametrize(
    ("held", "core_hours"),
    [
        # Each task by itself; both to the slowest's end and one merge; both to the very end.
        ("task", 8 * (1 + 0.5 + 0.1)),
        ("gang", 8 * (2 * 1 + 0.1)),
        ("machine", 8 * 2 * 1.1),
    ],
)
def test_what_waits_for_others_is_paid_for_where_it_is_held(new_run, held, core_hours):
    costs = trial_costs(two_workers(new_run), held)
    assert costs["core_hours"].to_list() == pytest.approx([12, core_hours])


@pytest.mark.parametrize(
    ("held", "recorded", "unknown"),
    [
        ("task", {}, ("gpu_hours", "money")),
        ("task", {"requested_cpus": pl.lit(None, pl.Int64)}, ("core_hours",)),
        # Where nobody knows what was held nothing is known.
        (None, {}, ("held_s", "core_hours", "gpu_hours", "money")),
    ],
)
def test_what_nothing_recorded_has_no_cost(new_run, held, recorded, unknown):
    costs = trial_costs(two_workers(new_run).with_columns(**recorded), held, EURO)
    assert [costs[column].null_count() for column in unknown] == [2] * len(unknown)


def test_a_gpu_without_a_price_leaves_the_money_open_but_where_none_was_held(new_run):
    no_gpu_price = Prices(core_hour=0.5, currency="EUR")
    trials = two_workers(new_run).with_columns(requested_gpus=pl.lit(0))
    assert trial_costs(trials, "task", no_gpu_price)["money"].to_list() == pytest.approx([6, 6.4])
    costs = trial_costs(priced([(1, 3600)]).drop(COSTS), "machine", no_gpu_price)
    assert (costs["gpu_hours"].to_list(), costs["money"].to_list()) == ([1], [None])


def test_a_configuration_costs_the_mean_of_its_trials():
    base, second = configuration_costs(priced([(1, 3600), (2, 2000), (2, 4000)])).to_dicts()
    assert base["core_hours"] == pytest.approx(4)
    assert second["core_hours"] == pytest.approx(4 * 2 * 3000 / 3600)
    assert second["gpu_hours"] == pytest.approx(2 * 3000 / 3600)
    assert second["money"] == pytest.approx(0.02 * second["core_hours"] + 1.5 * second["gpu_hours"])
    assert second["core_hours_per_work"] == pytest.approx(second["core_hours"] / 80)


def test_without_work_there_is_no_cost_per_work_and_without_a_device_there_are_costs():
    trials = priced([(1, 3600), (2, 3600)]).with_columns(
        work=pl.lit(None, pl.Float64), device=pl.lit(None, pl.String)
    )
    costs = configuration_costs(trials)
    assert (costs.height, costs["money_per_work"].null_count()) == (2, 2)
    assert costs["money"].null_count() == 0


def test_only_timed_trials_count_and_one_unknown_cost_leaves_the_mean_open():
    trials = priced([(1, 3600), (1, 7200)])
    last = pl.col("block") == 1
    invalid = trials.with_columns(valid=~last)
    assert configuration_costs(invalid)["core_hours"].to_list() == pytest.approx([4])
    unknown = trials.with_columns(money=pl.when(~last).then("money"))
    assert configuration_costs(unknown)["money"].to_list() == [None]


def test_a_configuration_without_a_timed_trial_has_no_cost(new_run):
    failed = {"failed": lambda n, _: ["w0"] if n == 2 else []}
    builder = new_run().curve("segment", lambda *_: 1.0, blocks=1, requested_cpus=1, **failed)
    table = with_costs(builder.configurations, builder.trials, "task")
    assert table["core_hours"].to_list() == [1 / 3600, None]


@pytest.mark.parametrize("currency", [None, "", "US dollars", " "])
def test_a_price_without_a_unit_is_no_price(currency):
    with pytest.raises(ValueError, match="prices need a currency in one word"):
        Prices(core_hour=0.5, currency=currency)


def table(new_run, **every_task):
    """Give N = 2 as the fastest, with tasks of 200 s and 100 s, and a merge of 5 s."""
    run = new_run()
    workers = [{"compute": 200.0}, {"compute": 100.0}]
    for block in range(2):
        run.trial("segment", [{"compute": 600.0}], block=block, **every_task)
        run.trial("segment", workers, block=block, merge={"merge": 5.0}, **every_task)
    return run.trials


def request(trials, **given):
    fastest = choices(configurations(trials), trials, aims=[Aim(objective="fastest")])
    return request_of(fastest[0], trials, **given)


@pytest.mark.parametrize(
    ("every_task", "given", "expected"),
    [
        # Twice the longest task, with what comes before it, in whole five minutes.
        ({"prepare_s": 0.0}, {}, {"workers": 2, "longest_task_s": 200.0, "time_s": 600}),
        ({"prepare_s": 110.0}, {}, {"time_s": 900}),
        # A fifth above the peak, in whole GiB.
        ({"peak_rss_bytes": int(1.9 * GIB)}, {}, {"memory_bytes": 3 * GIB}),
        ({"peak_rss_bytes": None}, {}, {"memory_bytes": None, "peak_rss_bytes": None}),
        # Cores that were asked for, else those given.
        ({"requested_cpus": 8}, {"cpus": 2}, {"cpus": 8}),
        ({}, {"cpus": 2}, {"cpus": 2}),
        ({}, {}, {"cpus": None}),
        ({"frames": 40}, {}, {"windows": 2, "work_per_window": 40}),
    ],
)
def test_a_request_follows_from_what_was_used(new_run, every_task, given, expected):
    found = request(table(new_run, **every_task), **given)
    assert {name: getattr(found, name) for name in expected} == expected


def test_a_request_follows_from_the_tasks_of_its_own_stage_alone(new_run):
    run = new_run()
    for stage, task_s in (("segment", 100.0), ("track", 300.0)):
        run.trial(stage, [{"compute": 2 * task_s}])
        run.trial(stage, [{"compute": task_s}] * 2)
    fastest = choices(configurations(run.trials), run.trials, aims=[Aim(objective="fastest")])
    found = {choice.stage: request_of(choice, run.trials).longest_task_s for choice in fastest}
    assert found == pytest.approx({"segment": 100.0, "track": 300.0}, abs=1)


def test_a_worker_that_did_tasks_in_turn_does_not_tell_how_long_one_takes():
    times = pl.DataFrame(
        {"stage": "a", "workers": 1, "wall_s": 240.0, "task": "w0", "tasks_done": [4]}
    )
    found = request(trials_from_wall_times(times))
    assert (found.longest_task_s, found.tasks_timed) == (240.0, False)
    found = request(trials_from_wall_times(times.with_columns(tasks_done=1)))
    assert (found.longest_task_s, found.tasks_timed) == (240.0, True)


def test_a_process_of_n_threads_asks_for_one_task_with_n_cores(new_run):
    run = new_run()
    for n, seconds in ((1, 600.0), (4, 200.0)):
        run.trial("segment", [{"compute": seconds}] * n)
    trials = run.trials.with_columns(windows=pl.lit(1, pl.Int64))
    found = request(trials, cpus=1)
    assert (found.workers, found.cpus) == (1, 4)


def test_nothing_is_asked_for_where_nothing_was_chosen(new_run):
    trials = table(new_run)
    (choice,) = choices(configurations(trials), trials, aims=[Aim(objective="budget", limit=1e-6)])
    assert request_of(choice, trials) is None


def test_what_was_asked_for_stands_beside_what_was_used(new_run):
    asked = {"requested_cpus": 4, "requested_memory_bytes": 8 * GIB}
    used = {"peak_rss_bytes": 2 * GIB, "cpu_s": 6.0}
    builder = new_run().trial("track", [{"compute": 4.0}] * 2, **asked, **used)
    expected = {
        "peak_rss_bytes": 2 * GIB,
        "requested_memory_bytes": 8 * GIB,
        "memory_used_share": 0.25,
        "memory_to_request_bytes": 3 * GIB,
        "cores_used": 1.5,
        "requested_cpus": 4,
    }
    assert requested_and_used(builder.trials) == expected
    # Where nothing was asked for only the use is known.
    builder = new_run().trial("track", [{"compute": 4.0}] * 2, **used)
    unknown = dict.fromkeys(name for name in expected if "request" in name or "share" in name)
    assert requested_and_used(builder.trials) == expected | unknown


@pytest.mark.parametrize(
    ("check_asked", "peak"), [(8 * GIB, 5 * GIB), (None, 5 * GIB), (16 * GIB, GIB)]
)
def test_a_check_that_asks_for_the_same_memory_counts_too(new_run, check_asked, peak):
    """On a cluster, or where nothing is asked for; where windows run on a GPU it may ask apart."""
    asked = 8 * GIB if check_asked else None
    builder = new_run().trial(
        "track",
        [{"compute": 4.0}],
        check="done",
        peak_rss_bytes=GIB,
        requested_memory_bytes=asked,
    )
    tasks = builder.tasks
    tasks[1, "peak_rss_bytes"] = 5 * GIB
    tasks[1, "requested_memory_bytes"] = check_asked
    row = trial_table(tasks, builder.spans).row(0, named=True)
    assert (row["peak_rss_bytes"], row["requested_memory_bytes"]) == (peak, asked)

"""What was asked for stands beside what was used, and what is asked for follows from it."""

import polars as pl
import pytest

from pyscale.analysis.advice import Aim, choices
from pyscale.analysis.resource_request import GIB, memory_to_request, request_of, requested_and_used
from pyscale.analysis.scaling import configurations
from pyscale.analysis.trials import trial_table
from pyscale.analysis.walltimes import trials_from_wall_times


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


@pytest.mark.parametrize(
    ("peak", "enough"),
    [(1, 1), (int(0.8 * GIB), 1), (int(0.9 * GIB), 2), (5 * GIB, 6), (5 * GIB + 1, 7), (0, 1)],
)
def test_a_fifth_more_than_the_peak_in_whole_gib_is_enough(peak, enough):
    assert memory_to_request(peak) == enough * GIB


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

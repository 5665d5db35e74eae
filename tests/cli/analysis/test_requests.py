"""What is asked for follows from what the trials used."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pyscale.analysis.advice import choices
from pyscale.analysis.requests import request_of
from pyscale.analysis.scaling import configurations
from pyscale.analysis.trials import trial_table
from pyscale.analysis.walltimes import trials_from_wall_times

GIB = 1 << 30


def table(new_run: Any, **every_task: Any) -> pl.DataFrame:
    """Give N = 2 as the fastest, with tasks of 200 s and 100 s, and a merge of 5 s."""
    run = new_run()
    for block in range(2):
        run.trial("segment", [{"compute": 600.0}], block=block, **every_task)
        workers = [{"compute": 200.0}, {"compute": 100.0}]
        run.trial("segment", workers, block=block, merge={"merge": 5.0}, **every_task)
    return trial_table(run.tasks, run.spans)


def request(trials: pl.DataFrame, **given: int) -> Any:
    fastest = choices(configurations(trials), trials, objectives=["fastest"])
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
    trials = trial_table(run.tasks, run.spans).with_columns(windows=pl.lit(1, pl.Int64))
    found = request(trials, cpus=1)
    assert (found.workers, found.cpus) == (1, 4)


def test_nothing_is_asked_for_where_nothing_was_chosen(new_run):
    trials = table(new_run)
    (choice,) = choices(configurations(trials), trials, objectives=["budget"], worker_hours=1e-6)
    assert request_of(choice, trials) is None

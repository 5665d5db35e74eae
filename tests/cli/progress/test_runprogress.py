"""Progress of a run, where no terminal draws it: a line for what a person should know."""

import re
from datetime import UTC, datetime, timedelta

from mockexecutor import MockExecutor
from mockruns import FAILED, ending, killed_at
from pyscale.measuring.benchmark import execute
from pyscale.progress.runprogress import RunProgress
from pyscale.store.journal import Event, Journal


def test_each_trial_that_ends_has_a_line(run, capsys):
    total = len(run.plan.trials)
    with RunProgress(run.plan) as progress:
        execute(run, MockExecutor(), progress.hear)
    first, *lines = capsys.readouterr().err.splitlines()
    assert first == f"pipeline on cancer-migration (8 frames); N = 1, 2; {total} trials"
    assert len(lines) == total
    trial = run.plan.trials[0]
    left = r"\(about \d+ s left\)"
    told = rf"\[1/{total}\] {trial.entry} N={trial.workers} block 1: [0-9.]+ s {left}"
    assert re.fullmatch(told, lines[0])
    assert re.fullmatch(rf"\[{total}/{total}\] .* block 2: [0-9.]+ s", lines[-1])


def test_a_resumed_run_counts_what_it_has(run, capsys):
    total = len(run.plan.trials)
    killed_at(run, run.plan.trials[3].id, "w0")
    with RunProgress(run.plan, Journal(run.journal_file).read()) as progress:
        execute(run, MockExecutor(), progress.hear)
    told = [line.partition("]")[0] for line in capsys.readouterr().err.splitlines()[1:]]
    assert told[-1] == f"[{total}/{total}"
    assert f"[4/{total}" in told
    assert f"[2/{total}" not in told


def test_the_line_of_a_trial_under_way_says_how_long_it_should_take(run):
    progress = RunProgress(run.plan)
    one, two = run.plan.trials[0], run.plan.trials[1]
    began = datetime.now(UTC) - timedelta(seconds=30)
    events = [
        (0, "trial_started", one.id),
        (20, "trial_finished", one.id),
        (20, "trial_started", two.id),
    ]
    assert progress.line() == f"[0/{len(run.plan.trials)}]"
    for second, kind, trial in events:
        time = began + timedelta(seconds=second)
        progress.hear(Event(time_utc=time, kind=kind, trial=trial))
    named = f"{two.entry} N={two.workers} block {two.block}"
    told = rf"\[1/16\] {named}: 10 of about 20 s; about (290 s|5 min) left"
    assert re.fullmatch(told, progress.line())


def test_a_failure_is_told_and_that_it_is_tried_again(run, capsys):
    trial = run.plan.trials[0].id
    with RunProgress(run.plan) as progress:
        execute(run, MockExecutor(ending(trial, "w0", FAILED)), progress.hear)
    _, failed, again, done, *_ = (
        line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()
    )
    assert failed.startswith(f"{trial} failed: ")
    assert again.startswith(f"{trial} retried: ")
    assert done.startswith(f"{run.plan.trials[0].entry} N=1 block 1: ")

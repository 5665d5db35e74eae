"""Progress of a run, where no terminal draws it: a line for what a person should know."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from mockexecutor import MockExecutor
from mockruns import FAILED, ending, killed_at
from pyscale.measuring.benchmark import execute
from pyscale.measuring.pilot import likely_s, trials_left
from pyscale.planning.sites import load_site
from pyscale.progress.course import Course
from pyscale.progress.statusview import RunProgress
from pyscale.store.journal import Event, Journal


def test_each_trial_that_ends_has_a_line(run, capsys):
    total = len(run.plan.trials)
    with RunProgress(run) as progress:
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
    with RunProgress(run, Journal(run.journal_file).read()) as progress:
        execute(run, MockExecutor(), progress.hear)
    told = [line.partition("]")[0] for line in capsys.readouterr().err.splitlines()[1:]]
    assert told[-1] == f"[{total}/{total}"
    assert f"[4/{total}" in told
    assert f"[2/{total}" not in told


def test_the_line_of_a_trial_under_way_says_how_long_it_should_take(run):
    progress = RunProgress(run)
    one, two = run.plan.trials[0], run.plan.trials[1]
    began = datetime.now(UTC) - timedelta(seconds=30)
    events = [
        (0, "trial_started", one.id),
        (20, "trial_finished", one.id),
        (20, "trial_started", two.id),
    ]
    assert str(progress) == f"[0/{len(run.plan.trials)}]"
    for second, kind, trial in events:
        time = began + timedelta(seconds=second)
        progress.hear(Event(time_utc=time, kind=kind, trial=trial))
    named = f"{two.entry} N={two.workers} block {two.block}"
    told = rf"\[1/16\] {named}: 10 of about 20 s; about (290 s|5 min) left"
    assert re.fullmatch(told, str(progress))


def test_a_failure_is_told_and_that_it_is_tried_again(run, capsys):
    trial = run.plan.trials[0].id
    with RunProgress(run) as progress:
        execute(run, MockExecutor(ending(trial, "w0", FAILED)), progress.hear)
    _, failed, again, done, *_ = (
        line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()
    )
    assert failed.startswith(f"{trial} failed: ")
    assert again.startswith(f"{trial} retried: ")
    assert done.startswith(f"{run.plan.trials[0].entry} N=1 block 1: ")


def test_a_slurm_that_falls_silent_is_told_at_once(run, capsys):
    with RunProgress(run) as progress:
        journal = Journal(run.journal_file, progress.hear)
        journal.append("slurm_silent", detail="squeue: Connection refused")
        journal.append("slurm_answers")
    lines = capsys.readouterr().err.splitlines()[1:]
    assert [line.partition("] ")[2] for line in lines] == [
        "Slurm does not answer: squeue: Connection refused",
        "Slurm answers again",
    ]


START = datetime(2026, 3, 17, tzinfo=UTC)


def event(kind, trial=None, at_s=0.0, detail="", job_id=None):
    return Event(
        time_utc=START + timedelta(seconds=at_s),
        kind=kind,
        trial=None if trial is None else getattr(trial, "id", trial),
        detail=detail,
        job_ids=(job_id,) if job_id else (),
    )


def started(trial, at_s):
    return event("trial_started", trial, at_s)


def finished(trial, at_s):
    return event("trial_finished", trial, at_s)


@pytest.fixture
def trials(make):
    """Three repeats of one configuration, then three of another."""
    plan = make(workers=(1, 2), only=("register_denoise",), repeats=3)
    return tuple(sorted(plan.trials, key=lambda trial: (trial.workers, trial.block)))


def test_each_remaining_trial_lasts_as_long_as_others_of_its_configuration(trials):
    # Nothing is foretold before a trial has finished.
    assert Course([started(trials[0], 1)]).left_s(trials, START) is None
    one, two = trials[0], trials[3]
    of_one = [started(one, 0), finished(one, 100)]
    # A configuration of which nothing is known lasts as the others.
    assert Course(of_one).left_s([two], START) == 100
    course = Course([*of_one, started(two, 100), finished(two, 110)])
    assert course.median_s([one]) == 100
    assert course.left_s(trials[1:3], START) == 200
    assert course.left_s(trials[4:], START) == 20
    # What a trial under way has run already is taken off.
    course = Course([*of_one, started(trials[1], 100)])
    assert course.left_s([trials[1]], START + timedelta(seconds=130)) == 70
    assert course.left_s([trials[1]], START + timedelta(seconds=500)) == 0


AGAIN = [(50, "trial_failed"), (50, "trial_retried"), (60, "trial_started")]


@pytest.mark.parametrize(
    ("between", "end_s", "durations_s"),
    # The time between a death and the resume is no trial's.
    [([(9000, "run_started")], 9001, []), (AGAIN, 100, [40])],
    ids=["resumed", "second attempt"],
)
def test_a_trial_counts_from_its_own_last_start(trials, between, end_s, durations_s):
    told = [(0, "trial_started"), *between, (end_s, "trial_finished")]
    events = [event(kind, trials[0] if kind[0] == "t" else None, at_s) for at_s, kind in told]
    assert [*Course(events).durations_s.values()] == durations_s


def failed(trial, detail):
    return event("trial_failed", trial, detail=detail)


def lost(detail):
    return event("allocation_ended", detail=detail)


ALIKE = [failed(f"contact-n1-b{b}", f"w0: job {b} failed on n{b}") for b in (1, 2, 3)]
GONE = [lost(f"job {job} failed on n1") for job in (17, 18, 19)]


STOPS = {"three trials alike": ALIKE, "three allocations alike": GONE}
GOES_ON = {
    "two": ALIKE[:2],
    "another reason": [*ALIKE[:2], failed("contact-n1-b3", "merge: no room")],
    "one finished between": [*ALIKE[:2], finished("contact-n2-b1", 0), ALIKE[2]],
    "a trial tried twice is one": [*ALIKE[:2], ALIKE[1]],
    "the run was started anew": [*ALIKE, event("run_started")],
    "two allocations": GONE[:2],
    "another end": [*GONE[:2], lost("job 19 was preempted on n1")],
    "a trial finished between": [*GONE[:2], finished("contact-n2-b1", 0), GONE[2]],
}


@pytest.mark.parametrize("events", STOPS.values(), ids=STOPS)
def test_three_alike_in_a_row_stop_the_run(events):
    assert events[-1].detail in str(Course(events).why_stop)


@pytest.mark.parametrize("events", GOES_ON.values(), ids=GOES_ON)
def test_fewer_or_unlike_ones_do_not(events):
    assert Course(events).why_stop is None


@pytest.mark.parametrize("end", ["allocation_ended", "run_finished", "run_cancelled"])
def test_an_allocation_is_open_until_the_journal_says_otherwise(end):
    course = Course([event("allocation_submitted", job_id="17")])
    assert course.allocations == {"17"}
    course.hear(event(end, job_id="17"))
    assert course.allocations == set()


@pytest.mark.parametrize(
    ("kinds", "is_left"),
    [
        ((), True),
        (("trial_started",), True),
        (("trial_started", "trial_finished"), False),
        (("trial_started", "trial_failed"), False),
        (("trial_started", "trial_failed", "trial_retried"), True),
        (("trial_skipped",), False),
        (("trial_started", "trial_failed", "run_started"), True),
        # The journal says that it had finished, and a user has removed its records.
        (("trial_started", "trial_finished", "run_started"), True),
    ],
)
def test_a_trial_is_left_until_it_has_ended_since_the_run_was_started(run, kinds, is_left):
    first = run.plan.trials[0]
    events = [event(kind, first if kind[0] == "t" else None) for kind in ("run_started", *kinds)]
    assert (first in trials_left(run, Course(events))) == is_left


def test_a_trial_is_likely_to_last_as_long_as_others_of_its_own_number_of_workers(make, trials):
    plan = make(workers=(1, 2), only=("register_denoise",), repeats=3, on_site=load_site("plain"))
    slow, fast = trials[0], trials[3]
    assert likely_s(plan, Course(), slow) == 3600
    course = Course([started(slow, 0), finished(slow, 20)])
    # What is not known of N = 2 is taken from earlier runs, or else from N = 1.
    assert likely_s(plan, course, fast) == 20
    assert likely_s(plan, course, fast, {fast.id: 4}) == 6
    course = Course([started(slow, 0), finished(slow, 20), started(fast, 20), finished(fast, 25)])
    assert likely_s(plan, course, trials[4], {trials[4].id: 4}) == 5
    assert likely_s(plan, course, trials[1]) == 20

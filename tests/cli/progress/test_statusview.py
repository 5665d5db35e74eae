"""`pyscale status` stays readable however many tasks a run has, also in a pipe and in words."""

import shutil
import threading
from datetime import UTC, datetime
from typing import get_args

import pytest
from rich.console import Console

from mockruns import carry_out, failing
from pyscale.errors import UserError
from pyscale.progress import statusview
from pyscale.progress.status import (
    MOST_TASKS,
    AllocationStatus,
    ConfigurationStatus,
    RunStatus,
    StatusReader,
)
from pyscale.progress.statusview import PHRASES, duration, rendered, story
from pyscale.progress.taskstatus import TaskStatus, TrialStatus
from pyscale.store.journal import Event, EventKind
from pyscale.store.lock import run_lock
from refusals import assert_said, refused


def show(run, *, watch=False, as_json=False, log=False):
    statusview.show(str(run.path), watch=watch, as_json=as_json, log=log)


def test_following_into_a_pipe_prints_one_table_when_the_run_has_ended(run, capsys):
    following = threading.Thread(target=show, args=(run,), kwargs={"watch": True}, daemon=True)
    following.start()
    carry_out(run)
    following.join()
    out = capsys.readouterr().out
    assert out.count(run.plan.run_id) == 1
    assert "complete" in out
    assert out.endswith("\n")


def test_leaving_a_run_that_is_followed_says_that_it_goes_on(run, capsys, monkeypatch):
    def interrupted(_reader):
        raise KeyboardInterrupt

    monkeypatch.setattr(StatusReader, "read", interrupted)
    with run_lock(run.path), pytest.raises(KeyboardInterrupt):
        show(run, watch=True)
    assert f"the run continues; end it with: pyscale cancel {run.path.name}" in (
        " ".join(capsys.readouterr().err.split())
    )


def test_following_a_run_whose_folder_goes_away_ends(run, monkeypatch):
    read = StatusReader.read
    told = []

    def deleted_at_the_second_look(reader):
        told.append(read(reader))
        if len(told) == 2:
            shutil.rmtree(run.path)
        return told[-1]

    monkeypatch.setattr(StatusReader, "read", deleted_at_the_second_look)
    with refused(UserError):
        show(run, watch=True)


def test_a_failure_and_its_second_try_are_in_the_log(run, capsys):
    carry_out(run, failing("track-n2-b1", "w1"))
    show(run, log=True)
    lines = capsys.readouterr().out.splitlines()
    told = [line.partition(" UTC  ")[2] for line in lines if " track-n2-b1 " in line]
    assert told[0] == "track-n2-b1 started"
    assert "track-n2-b1 failed: w1: mock failure in w1" in told
    assert any(line.startswith("track-n2-b1 retried: attempt 2") for line in told)
    assert lines[-1].endswith("the run finished")


def status(*trials, state="running", allocations=(), complaint=None):
    return RunStatus(
        run_id="20260317T114224Z-k3f9",
        suite="pipeline",
        state=state,
        configurations=(),
        trials=trials,
        allocations=allocations,
        slurm_complaint=complaint,
        failures=(),
    )


def text(what):
    console = Console(width=200)
    with console.capture() as capture:
        console.print(rendered(what))
    return capture.get()


def test_many_tasks_are_counted_and_few_are_told():
    running = tuple(
        TaskStatus(task=f"w{i}", state="running", node="n1", elapsed_s=60 * i)
        for i in range(MOST_TASKS)
    )
    trial = TrialStatus(
        trial="segment-n64-b1",
        state="under way",
        counts={"running": 64, "queued": 936, "done": 9000},
        tasks=running,
    )
    lines = text(status(trial)).splitlines()
    assert "segment-n64-b1: 64 running, 936 queued, 9000 done" in lines
    assert "  … and 44 more running, 936 more queued, 9000 more done" in lines
    assert sum("running" in line and "on n1" in line for line in lines) == MOST_TASKS
    assert len(lines) < MOST_TASKS + 10


def points(count):
    return tuple(
        ConfigurationStatus(
            entry=f"segment_{size}px", family="segment", workers=1, done=1, failed=size % 2, total=6
        )
        for size in range(count)
    )


def rows(*configurations):
    shown = text(status().model_copy(update={"configurations": configurations}))
    return [line.replace("│", " ").split() for line in shown.splitlines()]


def test_the_points_of_a_large_grid_are_counted_together():
    track = ConfigurationStatus(entry="track", workers=2, done=0, failed=0, total=6)
    found = rows(*points(60), track)
    assert ["segment", "(60", "points)", "1", "60", "30", "360"] in found
    assert ["track", "2", "0", "0", "6"] in found
    assert len(found) < 10
    # Those of a small one are told one by one.
    assert ["segment_11px", "1", "1", "1", "6"] in rows(*points(12))


def test_a_silent_slurm_and_processes_that_outlived_their_pyscale_are_told():
    silent = text(status(complaint="squeue: Connection refused"))
    left = text(status(state="interrupted").model_copy(update={"left_running": (17, 18)}))
    assert_said(silent, left)
    assert "pyscale cancel 20260317T114224Z-k3f9" in left


def test_an_interrupted_run_says_what_goes_on_without_it():
    ended, running, queued = (
        AllocationStatus(job_id=job_id, state=state, nodes="1")
        for job_id, state in (("16", "ended"), ("17", "running"), ("18", "queued"))
    )
    told = [
        text(status(state="interrupted", allocations=jobs)).splitlines()[-1]
        for jobs in ((), (ended,), (ended, running), (running, queued))
    ]
    assert_said(*told)
    assert ["pyscale cancel" in last for last in told] == [False, False, True, True]


def test_a_time_is_said_as_people_say_it():
    assert_said(*(duration(seconds) for seconds in (48, 720, 12_000, 260_000)))


NOON = datetime(2026, 3, 17, 12, tzinfo=UTC)


def event(kind, trial=None, job_ids=(), detail=""):
    return Event(time_utc=NOON, kind=kind, trial=trial, job_ids=job_ids, detail=detail)


def test_every_event_has_words():
    assert set(PHRASES) == set(get_args(EventKind))


def test_what_happened_is_told_in_words():
    ids = tuple(f"17_{number}" for number in range(1000))
    tasks = ", ".join(f"w{number}" for number in range(1000))
    started = event("run_started")
    told = [
        # Few jobs are named, and many are shortened.
        [event("submitted", "a", ids[:2], "w0, w1")],
        [event("submitted", "a", ids, tasks)],
        [event("slurm_silent", detail="squeue: Connection refused")],
        [event("slurm_answers")],
        # A run that began again, after a death and after an end that is written.
        [started, event("trial_started", "a"), started],
        [started, event("run_cancelled"), started],
    ]
    assert_said(*([*story(events)][-1] for events in told))


@pytest.mark.parametrize("hour", [None, 14])
def test_a_job_that_waits_tells_why_and_when_slurm_plans_to_start_it(run, hour):
    starts = None if hour is None else datetime(2026, 3, 17, hour, tzinfo=UTC)
    waiting = AllocationStatus(
        job_id="17", state="queued", nodes="1", why="waiting for free nodes", starts_utc=starts
    )
    status = StatusReader(run).read().model_copy(update={"allocations": (waiting,)})
    console = Console(width=200, record=True)
    console.print(rendered(status))
    told = console.export_text()
    assert "allocation 17 waits in the queue: waiting for free nodes" in told
    assert ("2026-03-17 14:00 UTC" in told) == (hour is not None)

"""`pyscale status` stays readable however many tasks a run has, also in a pipe and in words."""

import json
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
    ConfigurationStatus,
    JobCounts,
    RunStatus,
    StatusReader,
)
from pyscale.progress.statusview import PHRASES, duration, rendered, story
from pyscale.progress.taskstatus import TaskStatus, TrialStatus
from pyscale.store.journal import Event, EventKind
from pyscale.store.lock import run_lock
from refusals import refused


def show(run, *, watch=False, as_json=False, log=False):
    statusview.show(str(run.path), watch=watch, as_json=as_json, log=log)


def test_a_run_that_only_waits_to_begin_is_not_to_be_resumed(run, capsys):
    show(run)
    out = capsys.readouterr().out
    assert "planned" in out
    assert "--resume" not in out


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


def test_each_task_is_in_the_json(run, capsys):
    carry_out(run)
    show(run, as_json=True)
    trials = json.loads(capsys.readouterr().out)["trials"]
    (trial,) = (trial for trial in trials if trial["trial"] == "segment-n2-b1")
    assert [task["task"] for task in trial["tasks"]] == ["w0", "w1", "merge", "check"]
    for task in trial["tasks"]:
        assert task["state"] == "done"
        assert task["node"]
        assert task["job_id"] == f"segment-n2-b1/{task['task']}"
        assert task["elapsed_s"] >= 0


def test_a_failure_and_its_second_try_are_in_the_log(run, capsys):
    carry_out(run, failing("track-n2-b1", "w1"))
    show(run, log=True)
    lines = capsys.readouterr().out.splitlines()
    told = [line.partition(" UTC  ")[2] for line in lines if " track-n2-b1 " in line]
    assert told[0] == "track-n2-b1 started"
    assert "track-n2-b1 failed: w1: mock failure in w1" in told
    assert any(line.startswith("track-n2-b1 retried: attempt 2") for line in told)
    assert lines[-1].endswith("the run finished")


def status(*trials, state="running", jobs=None, complaint=None):
    return RunStatus(
        run_id="20260317T114224Z-k3f9",
        suite="pipeline",
        state=state,
        configurations=(),
        trials=trials,
        jobs=jobs,
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
        TaskStatus(task=f"w{i}", state="running", job_id=f"17_{i}", node="n1", elapsed_s=60 * i)
        for i in range(MOST_TASKS)
    )
    trial = TrialStatus(
        trial="segment-n64-b1",
        state="under way",
        counts={"running": 64, "queued": 936, "done": 9000},
        waits={"waiting for free nodes": 1, "waiting behind jobs of higher priority": 935},
        tasks=running,
    )
    lines = text(status(trial)).splitlines()
    assert "segment-n64-b1: 64 running, 936 queued, 9000 done" in lines
    assert "  … and 44 more running, 936 more queued, 9000 more done" in lines
    assert "  935 queued: waiting behind jobs of higher priority" in lines
    assert sum("running" in line and "on n1" in line for line in lines) == MOST_TASKS
    assert len(lines) < MOST_TASKS + 10


def test_a_task_has_its_node_its_time_and_why():
    tasks = (
        TaskStatus(task="w3", state="failed", node="n2", elapsed_s=12, why="out of memory on n2"),
        TaskStatus(task="w4", state="queued", job_id="17_4", why="waiting for free nodes"),
    )
    trial = TrialStatus(
        trial="a",
        state="under way",
        counts={"failed": 1, "queued": 1},
        waits={"waiting for free nodes": 1},
        tasks=tasks,
    )
    lines = [line.split() for line in text(status(trial)).splitlines()]
    assert ["w3", "failed", "on", "n2", "12", "s", "out", "of", "memory", "on", "n2"] in lines
    assert ["w4", "queued", "job", "17_4", "waiting", "for", "free", "nodes"] in lines


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
    silent = text(status(complaint="squeue: Connection refused")).splitlines()
    told = "Slurm does not answer (squeue: Connection refused): this shows the records only"
    assert told in silent
    left = text(status(state="interrupted").model_copy(update={"left_running": (17, 18)}))
    assert "processes 17, 18 of this run still run" in left
    assert "end with: pyscale cancel 20260317T114224Z-k3f9" in left


@pytest.mark.parametrize(
    ("jobs", "advice"),
    [
        (None, "finish it with: "),
        (JobCounts(running=0, queued=0), "finish it with: "),
        (JobCounts(running=3, queued=0), "interrupted; 3 jobs still run; continue them with: "),
        (JobCounts(running=1, queued=2), "interrupted; 1 job still runs and 2 jobs still wait; "),
        (JobCounts(running=0, queued=1), "interrupted; 1 job still waits; continue them with: "),
    ],
)
def test_an_interrupted_run_says_what_goes_on_without_it(jobs, advice):
    lines = text(status(state="interrupted", jobs=jobs)).splitlines()
    assert lines[-1].startswith(advice)
    assert "pyscale resume 20260317T114224Z-k3f9" in lines[-1]
    assert ("pyscale cancel" in lines[-1]) == ("still" in lines[-1])


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(48, "48 s"), (720, "12 min"), (12_000, "3 h 20 min"), (260_000, "3 days")],
)
def test_a_time_is_said_as_people_say_it(seconds, words):
    assert duration(seconds) == words


NOON = datetime(2026, 3, 17, 12, tzinfo=UTC)


def event(kind, trial=None, job_ids=(), detail=""):
    return Event(time_utc=NOON, kind=kind, trial=trial, job_ids=job_ids, detail=detail)


def test_every_event_has_words_and_a_line_its_time_its_trial_and_what_happened():
    assert set(PHRASES) == set(get_args(EventKind))
    failed = event("trial_failed", "segment-n2-b1", detail="out of memory on n1")
    assert list(story([failed])) == [
        "2026-03-17 12:00:00 UTC  segment-n2-b1 failed: out of memory on n1"
    ]


IDS = tuple(f"17_{number}" for number in range(1000))
TASKS = ", ".join(f"w{number}" for number in range(1000))
MANY = "(1000) as 17_0"
STARTED, BEGUN = event("run_started"), event("trial_started", "a")


SILENT = event("slurm_silent", detail="squeue: Connection refused")
RESUMED = "the run was resumed"


@pytest.mark.parametrize(
    ("events", "last"),
    [
        # Few jobs are named, and many are shortened.
        ([event("submitted", "a", IDS[:2], "w0, w1")], "a submitted: w0, w1 as 17_0, 17_1"),
        ([event("submitted", "a", IDS, TASKS)], f"a submitted: w0 … w999 {MANY} … 17_999 (1000)"),
        ([SILENT], "Slurm does not answer: squeue: Connection refused"),
        ([event("slurm_answers")], "Slurm answers again"),
        ([STARTED], "the run started"),
        ([STARTED, BEGUN], "a started"),
        ([STARTED, BEGUN, STARTED], f"{RESUMED}: the pyscale before ended without a record"),
        # One that ended was not left by a death.
        ([STARTED, event("run_cancelled"), STARTED], RESUMED),
    ],
)
def test_what_happened_is_told_in_words(events, last):
    assert [*story(events)][-1].removeprefix("2026-03-17 12:00:00 UTC  ") == last

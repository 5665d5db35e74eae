"""Where a run stands is told from its files alone."""

import io
import shutil
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from rich.console import Console

from mockexecutor import MockEnd, MockExecutor
from mockruns import FAILED, Killed, carry_out, ending, failing, killed_at
from programs import put_program
from pyscale.measuring.benchmark import benchmark
from pyscale.planning.sites import load_site
from pyscale.progress import status, statusview
from pyscale.progress.status import (
    Queue,
    StatusReader,
    allocation_states,
    queue_waits_s,
    run_status,
)
from pyscale.progress.statusview import rendered
from pyscale.slurm import queue
from pyscale.slurm.queue import QueuedJob
from pyscale.store.allocations import Allocated, Allocations, write_allocations
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Event, Journal
from pyscale.store.lock import is_locked, run_lock
from pyscale.store.records import EXIT_FILE, TaskOrder
from pyscale.store.taskfiles import write_order

pytestmark = pytest.mark.usefixtures("without_figures")


FAKE_SQUEUE = """\
[ -s '{folder}/complaint' ] && sed 's/^/squeue: error: /' '{folder}/complaint' >&2 && exit 1
cat '{folder}/jobs'
"""
"""For what a real one cannot be made to do: to be late, or to fail at a given moment."""


PATIENCE_S = 600.0
"""With a program that answers, on a busy machine."""


@pytest.fixture
def squeue(tmp_path, monkeypatch):
    """Let squeue answer with the given state of each job, or with a complaint."""
    program = put_program(tmp_path / "bin", "squeue", FAKE_SQUEUE.format(folder=tmp_path))
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setattr(queue, "TIME_LIMIT_S", PATIENCE_S)

    def says(complaint="", **states):
        jobs = (f"\x1e{job}\x1f{state}\x1fn1\x1f1\x1fNone\n" for job, state in states.items())
        (tmp_path / "jobs").write_text("".join(jobs))
        (tmp_path / "complaint").write_text(complaint)

    says()
    return says


@pytest.fixture
def cluster_run(make, tmp_path):
    """A run whose plan names a site, with a trial of four windows."""
    plan = make(workers=(4,), repeats=1).model_copy(update={"site": load_site("plain")})
    return RunFolder.create(tmp_path / "runs", plan)


def killed_while_it_runs(run, task):
    """Leave a task of the first trial running, those before it done, those after it queued."""
    trial = run.plan.trials[0]
    killed_at(run, trial.id, task)
    return trial


def told(status):
    (trial,) = status.trials
    return {task.task: task for task in trial.tasks}


def states(status):
    return {name: task.state for name, task in told(status).items() if name.startswith("w")}


def looked_at(run, behaviour, trial, task):
    """Where a run stands when this task begins, by which pyscale is killed."""
    seen = []

    def looks(this_trial, this_task, spec):
        if (this_trial, this_task) == (trial, task):
            seen.append(run_status(run))
            raise Killed
        return behaviour(this_trial, this_task, spec)

    with pytest.raises(Killed):
        carry_out(run, MockExecutor(looks))
    return seen[0]


def test_a_new_run_is_planned_and_a_finished_one_complete(run):
    status = run_status(run)
    assert status.state == "planned"
    assert sum(row.total for row in status.configurations) == len(run.plan.trials)
    carry_out(run)
    status = run_status(run)
    assert status.state == "complete"
    assert all(row.done == row.total for row in status.configurations)
    assert (status.trials, status.failures, status.eta_s) == ((), (), None)
    with run_lock(run.path):
        status = run_status(run)
    assert (status.state, status.eta_s) == ("running", None)
    out = io.StringIO()
    Console(file=out).print(rendered(status))
    assert "writing the report" in out.getvalue()


def test_a_run_that_begins_while_one_looks_is_not_interrupted(run, monkeypatch):
    with ExitStack() as begun:

        def begins_once_it_was_looked_at(path):
            monkeypatch.undo()
            seen = is_locked(path)
            begun.enter_context(run_lock(path))
            Journal(run.journal_file).append("run_started")
            return seen

        monkeypatch.setattr("pyscale.progress.status.is_locked", begins_once_it_was_looked_at)
        assert run_status(run).state == "running"


@pytest.mark.slow
def test_the_report_is_there_when_a_run_has_ended(make, tmp_path):
    run, seen = RunFolder.create(tmp_path / "runs", make(only=("register_denoise",))), []

    def follow():
        statusview.show(str(run.path), watch=True, as_json=False, log=False)
        seen.append((run.report / "scaling_analysis.md").exists())

    following = threading.Thread(target=follow, daemon=True)
    following.start()
    benchmark(run, MockExecutor(), lambda _event: None)
    following.join()
    assert seen == [True]


def test_a_failure_is_told_with_its_reason_and_every_task_where_that_is_asked_for(run):
    carry_out(run, failing("track-n2-b1", "w1"))
    status = run_status(run)
    assert status.state == "incomplete"
    assert status.failures == ("track-n2-b1: w1: mock failure in w1",)
    counted = {(row.entry, row.workers): row.failed for row in status.configurations}
    assert counted["track", 2] == sum(counted.values()) == 1
    told = {trial.trial: trial for trial in run_status(run, all_tasks=True).trials}
    assert list(told) == [trial.id for trial in run.plan.trials]
    for trial in run.plan.trials:
        assert tuple(task.task for task in told[trial.id].tasks) == trial.tasks
    failed = told["track-n2-b1"]
    assert failed.state == "failed"
    assert [task.state for task in failed.tasks] == ["done", "failed", "waiting", "waiting"]
    assert failed.tasks[1].why == "mock failure in w1"
    assert told["track-n2-b2"].state == "done"


def test_a_run_under_way_has_an_end_in_sight(run):
    seen = looked_at(run, lambda *_: MockEnd(), run.plan.trials[-1].id, "w0")
    assert seen.state == "running"
    assert seen.eta_s is not None
    assert sum(row.done for row in seen.configurations) == len(run.plan.trials) - 1
    # Nothing on this machine outlives its pyscale, so nothing is said to run.
    status = run_status(run)
    assert (status.state, status.trials) == ("interrupted", ())
    with run_lock(run.path):
        assert run_status(run).state == "running"


def test_tasks_of_the_trial_under_way_are_told_one_by_one(run):
    seen = looked_at(run, lambda *_: MockEnd(), "segment-n2-b1", "w1")
    (trial,) = seen.trials
    assert (trial.trial, trial.state) == ("segment-n2-b1", "under way")
    assert trial.counts == {"running": 1, "done": 1, "waiting": 2}
    assert [(task.task, task.state) for task in trial.tasks] == [
        ("w1", "running"),
        ("w0", "done"),
        ("merge", "waiting"),
        ("check", "waiting"),
    ]
    assert trial.tasks[0].node
    assert all(task.elapsed_s is not None for task in trial.tasks[:2])
    assert seen.slurm_complaint is None


def test_a_failed_task_comes_first_with_its_reason(run):
    seen = looked_at(run, ending("segment-n2-b1", "w0", FAILED), "segment-n2-b1", "w1")
    first = seen.trials[0].tasks[0]
    assert (first.task, first.state, first.why) == ("w0", "failed", "mock failure in w0")


def test_a_task_that_was_set_aside_and_ordered_again_is_told_anew(run):
    reader = StatusReader(run)
    seen = []

    def behaviour(trial, task, _spec):
        if (trial, task) == ("segment-n2-b1", "w1"):
            seen.append(told(reader.read())["w0"].state)
            if len(seen) == 3:
                raise Killed
            return FAILED
        if (trial, task) == ("segment-n2-b1", "w0") and seen:
            seen.append(told(reader.read())["w0"].state)
        return MockEnd()

    with pytest.raises(Killed):
        carry_out(run, MockExecutor(behaviour))
    assert seen == ["done", "running", "done"]


def test_the_word_of_an_earlier_try_is_not_that_of_this_one(run):
    seen = []
    trial = run.plan.trial("segment-n2-b1")

    def behaviour(this_trial, task, _spec):
        if (this_trial, task) != (trial.id, "w1"):
            return MockEnd()
        seen.append(told(run_status(run))["w1"].state)
        if len(seen) == 2:
            earlier = run.trial(trial).with_name(f"{trial.id}.failed-1") / "w1" / EXIT_FILE
            shutil.copy(earlier, run.task(trial, "w1") / EXIT_FILE)
            seen.append(told(run_status(run))["w1"].state)
            raise Killed
        return FAILED

    with pytest.raises(Killed):
        carry_out(run, MockExecutor(behaviour))
    assert seen == ["running", "running", "running"]


def test_a_task_that_is_ordered_again_in_its_folder_is_not_told_as_running(cluster_run, squeue):
    trial = killed_while_it_runs(cluster_run, "w1")
    squeue()
    with run_lock(cluster_run.path):
        assert states(run_status(cluster_run))["w1"] == "running"
        write_order(cluster_run.task(trial, "w1"), TaskOrder(argv=("true",)))
        assert states(run_status(cluster_run))["w1"] == "queued"


class TestOnACluster:
    def test_tasks_that_nobody_works_off_are_gone_as_far_as_slurm_tells(self, cluster_run, squeue):
        trial = killed_while_it_runs(cluster_run, "w2")
        by_records = {"w0": "done", "w1": "done", "w2": "running", "w3": "queued"}
        write_order(cluster_run.task(trial, "w3"), TaskOrder(argv=("true",)))
        job = {"nodes": "1", "cores": 4, "time_limit_min": 60, "entries": ("register_denoise",)}
        held = Allocated(job_id="j1", submit_utc=datetime.now(UTC), **job)
        write_allocations(cluster_run.path, Allocations(jobs=(held,)))
        squeue(j1="RUNNING")
        assert states(run_status(cluster_run)) == by_records
        squeue(j1="COMPLETED")
        status = run_status(cluster_run)
        assert states(status) == by_records | {"w2": "gone", "w3": "gone"}
        assert "resume the run" in told(status)["w2"].why
        with run_lock(cluster_run.path):
            assert states(run_status(cluster_run)) == by_records
        squeue(complaint="Unable to contact slurm controller")
        status = run_status(cluster_run)
        assert status.slurm_complaint == "squeue: Unable to contact slurm controller"
        assert states(status) == by_records

    def test_who_watches_does_not_ask_at_every_look_and_hears_of_a_later_answer(
        self, cluster_run, squeue, monkeypatch
    ):
        killed_while_it_runs(cluster_run, "w2")
        squeue()
        reader = StatusReader(cluster_run)
        assert reader.read().slurm_complaint is None
        squeue(complaint="asked too often")
        assert reader.read().slurm_complaint is None
        later_s = time.monotonic() + 3600
        monkeypatch.setattr(status, "time", SimpleNamespace(monotonic=lambda: later_s))
        assert reader.read().slurm_complaint == "squeue: asked too often"

    def test_nobody_is_asked_of_a_run_on_this_machine(self, run, squeue):
        squeue(complaint="nobody should ask")
        with run_lock(run.path):
            assert run_status(run).slurm_complaint is None


NOON = datetime(2026, 3, 17, 12, tzinfo=UTC)


def allocated(job_id, after=None):
    return Allocated(
        job_id=job_id,
        nodes="1-2",
        cores=4,
        time_limit_min=60,
        submit_utc=NOON,
        after=after,
        entries=("segment",),
    )


def event(kind, job_id="", seconds=0.0):
    time_utc = NOON + timedelta(seconds=seconds)
    return Event(time_utc=time_utc, kind=kind, job_ids=(job_id,) if job_id else ())


def queued(job_id, state, reason="None"):
    start = datetime.now(UTC) - timedelta(minutes=20)
    return QueuedJob(
        job_id=job_id,
        state=state,
        reason=reason,
        node="n[1-2]" if state == "RUNNING" else "",
        start=start if state == "RUNNING" else None,
    )


def asked(*jobs, complaint=None):
    return Queue({job.job_id: job for job in jobs}, complaint)


def test_the_wait_ends_when_the_pilot_starts():
    events = [event("pilot_started", "17", 90), event("pilot_started", "17", 500)]
    assert queue_waits_s([allocated("17")], events) == {"17": 90}
    # One that waits for another waits for the queue alone from the end of that.
    chain = [allocated("17"), allocated("18", after="17")]
    later = [event("pilot_started", "18", 90)]
    assert queue_waits_s(chain, later) == {}
    assert queue_waits_s(chain, [event("allocation_ended", "17", 60), *later]) == {"18": 30}


@pytest.mark.parametrize(
    ("queue", "state", "nodes"),
    [
        (asked(queued("17", "RUNNING")), "running", "n[1-2]"),
        (asked(queued("17", "PENDING", "Resources")), "queued", "1-2"),
        (asked(queued("17", "COMPLETED")), "ended", ""),
        (asked(), "ended", "1-2"),
        (asked(complaint="squeue: away"), "unknown", "1-2"),
        (None, "unknown", "1-2"),
    ],
    ids=["running", "waiting", "ended", "forgotten", "silent", "not asked"],
)
def test_slurm_says_where_it_stands(queue, state, nodes):
    (status,) = allocation_states([allocated("17")], [], queue)
    assert (status.state, status.nodes) == (state, nodes)


def test_the_start_that_slurm_expects_is_told_while_the_job_waits():
    start = datetime(2026, 3, 17, 12, tzinfo=UTC)
    waiting = replace(queued("17", "PENDING", "Resources"), start=start)
    (status,) = allocation_states([allocated("17")], [], asked(waiting))
    assert (status.starts_utc, status.left_s) == (start, None)


def test_the_time_left_is_that_of_the_job():
    (status,) = allocation_states([allocated("17")], [], asked(queued("17", "RUNNING")))
    assert status.left_s == pytest.approx(40 * 60, abs=60)

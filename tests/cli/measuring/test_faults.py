"""Every fault that a cluster has, pretended: the others go on, and nothing counts twice."""

from collections import Counter, deque

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockexecutor import MockEnd, MockExecutor
from mockruns import Killed, carry_out, ending, events_of
from pyscale.store.folder import RunFolder
from pyscale.store.tables import build_tables
from pyscale.store.taskfiles import read_task
from pyscale_stages.contract import TaskError

TRIAL = "contact-n2-b1"


def known(kind, exit_code=1):
    return TaskError(kind=kind, message=f"pretended {kind} on n1", exit_code=exit_code)


def gone(kind, exit_code=1):
    """A task that left no word, and Slurm knows why."""
    return MockEnd(returncode=None, error=known(kind, exit_code))


PASSING = {
    "failed": MockEnd(returncode=1),
    "killed": MockEnd(returncode=-9),
    "vanished": MockEnd(returncode=None),
    "node down": gone("NodeFail"),
    "preempted": gone("Preempted"),
    "requeued": gone("Requeued"),
    "cancelled": gone("Cancelled"),
    "cancelled while its launcher lived": MockEnd(returncode=-15, error=known("Cancelled")),
    "disk full": MockEnd(returncode=3, error=known("ResourceExhausted", 3)),
}
"""Faults that another try may be spared."""

LASTING = {
    "out of memory": gone("OutOfMemory", 3),
    "out of memory while its launcher lived": MockEnd(returncode=-9, error=known("OutOfMemory", 3)),
    "time limit": gone("TimeLimit", 3),
    "bad input": MockEnd(returncode=2),
}
"""Faults that another try of the same would meet again."""

FAULTS = PASSING | LASTING


@pytest.fixture
def run(make, tmp_path):
    """Contacts at N = 1 and 2, twice, and what feeds them."""
    return RunFolder.create(tmp_path / "runs", make(only=("contact",)))


def on_a_cluster(behaviour=lambda _trial, _task, _spec: MockEnd()):
    return MockExecutor(behaviour, on_this_node=False)


def killed_in(run, behaviour):
    with pytest.raises(Killed):
        carry_out(run, on_a_cluster(behaviour))


def state(run, task):
    return read_task(run.task(run.plan.trial(TRIAL), task)).state


def assert_whole(run):
    """Every task of the plan has its one set of records, and stands in the table once."""
    wanted = {(trial.id, task) for trial in run.plan.trials for task in trial.tasks}
    tasks = build_tables(run).tasks
    assert sorted(tasks.select("trial", "task").rows()) == sorted(wanted)
    assert set(tasks["status"]) == {"done"}
    finished = Counter(event.trial for event in events_of(run, "trial_finished"))
    assert finished == Counter({trial.id: 1 for trial in run.plan.trials})
    return tasks


@pytest.mark.parametrize(
    ("task", "fault"), [*(("w0", fault) for fault in FAULTS), ("w1", "killed")]
)
def test_a_fault_of_one_task_ends_no_other_and_resume_completes_the_set(run, fault, task):
    assert carry_out(run, on_a_cluster(ending(TRIAL, task, *[FAULTS[fault]] * 9))) == (TRIAL,)
    other = {"w0": "w1", "w1": "w0"}[task]
    assert [state(run, name) for name in (task, other, "merge")] == ["failed", "done", "absent"]
    again = on_a_cluster()
    assert carry_out(run, again) == ()
    assert {trial for trial, _ in again.started} == {TRIAL}
    assert_whole(run)


@pytest.mark.parametrize(
    ("retries", "fault"), [*((1, fault) for fault in PASSING), (0, "failed"), (3, "failed")]
)
def test_tries_are_bounded_counted_and_told(make, tmp_path, fault, retries):
    run = RunFolder.create(tmp_path / "runs", make(only=("contact",), retries=retries))
    executor = on_a_cluster(ending(TRIAL, "w0", *[FAULTS[fault]] * 9))
    carry_out(run, executor)
    assert executor.started.count((TRIAL, "w1")) == 1 + retries
    assert run.attempts(run.plan.trial(TRIAL)) == 1 + retries
    assert len(events_of(run, "trial_failed")) == 1 + retries
    told = [event.detail for event in events_of(run, "trial_retried")]
    assert told == [f"attempt {number}" for number in range(2, 2 + retries)]


@pytest.mark.parametrize("fault", LASTING)
def test_what_would_end_the_same_way_is_not_tried_again(run, fault):
    executor = on_a_cluster(ending(TRIAL, "w0", FAULTS[fault]))
    assert carry_out(run, executor) == (TRIAL,)
    assert executor.started.count((TRIAL, "w0")) == 1
    (failed,) = events_of(run, "trial_failed")
    assert "w0: " in failed.detail
    assert "; not retried, because the same " in failed.detail


def test_a_fault_that_lasts_is_told_before_one_that_passes(run):
    """Another try would lose w0 to its limit again, whatever becomes of w1."""

    def behaviour(trial, task, _spec):
        ends = {"w0": FAULTS["node down"], "w1": FAULTS["time limit"]}
        return ends.get(task, MockEnd()) if trial == TRIAL else MockEnd()

    executor = on_a_cluster(behaviour)
    carry_out(run, executor)
    assert executor.started.count((TRIAL, "w0")) == 1
    (failed,) = events_of(run, "trial_failed")
    assert failed.detail.startswith("w1: pretended TimeLimit on n1; not retried")


def test_a_retried_trial_is_flagged_in_the_table_and_no_other_is(run):
    carry_out(run, on_a_cluster(ending(TRIAL, "w1", FAULTS["node down"])))
    tasks = assert_whole(run)
    retried = tasks.filter(pl.col("attempt") > 1)
    assert set(retried["trial"]) == {TRIAL}
    assert set(retried["attempt"]) == {2}


class TestAKilledPyscale:
    """It dies while w0 runs and w1 is queued."""

    def test_has_its_trial_started_anew_by_the_next(self, run):
        killed_in(run, ending(TRIAL, "w0", None))
        assert (state(run, "w0"), state(run, "w1")) == ("running", "queued")
        again = on_a_cluster()
        assert carry_out(run, again) == ()
        assert [t for trial, t in again.started if trial == TRIAL] == ["w0", "w1", "merge", "check"]
        assert run.attempts(run.plan.trial(TRIAL)) == 1, "an interruption is no failure"
        assert len(events_of(run, "trial_interrupted")) == 1
        assert_whole(run)

    @pytest.mark.parametrize("task", ["merge", "check"])
    def test_has_a_merge_or_check_done_anew_alone(self, run, task):
        killed_in(run, ending(TRIAL, task, None))
        again = on_a_cluster()
        assert carry_out(run, again) == ()
        assert (TRIAL, task) in again.started
        assert (TRIAL, "w0") not in again.started
        assert_whole(run)


KILL = "kill"
ACTS = ["well", "well", "well", KILL, *FAULTS]


def acting(acts):
    """Tasks end as the acts say, one after the other, and well when there are no more."""

    def behaviour(_trial, _task, _spec):
        act = acts.popleft() if acts else "well"
        if act == KILL:
            raise Killed
        return FAULTS.get(act, MockEnd())

    return behaviour


def until_whole(run, acts):
    retries = run.plan.settings["retries"]
    for _ in range(42):
        executor = on_a_cluster(acting(acts))
        try:
            incomplete = carry_out(run, executor)
        except Killed:
            continue
        finally:
            starts = Counter(executor.started)
            assert all(count <= 1 + retries for count in starts.values())
        states = {
            read_task(run.task(trial, task)).state
            for trial in run.plan.trials
            for task in trial.tasks
        }
        assert states <= {"done", "failed", "absent"}, "everything that was started has ended"
        if not incomplete:
            return
    raise AssertionError("the run never became whole")


@pytest.mark.slow
@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    acts=st.lists(st.sampled_from(ACTS), max_size=40),
    chunks=st.integers(1, 2),
)
def test_whatever_happens_a_resumed_run_becomes_whole_and_counts_nothing_twice(
    make, tmp_path, acts, chunks
):
    plan = make(only=("contact",), repeats=1, cache="asis", chunks_per_worker=chunks)
    run = RunFolder.create(tmp_path / "runs", plan)
    until_whole(run, deque(acts))
    tasks = assert_whole(run)
    told = Counter(
        event.trial
        for event in events_of(run, "trial_retried")
        if event.detail != "its check alone"
    )
    for trial in run.plan.trials:
        assert run.attempts(trial) == 1 + told[trial.id]
        assert set(tasks.filter(trial=trial.id)["attempt"]) == {run.attempts(trial)}

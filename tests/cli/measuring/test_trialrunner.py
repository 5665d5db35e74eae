import itertools
import multiprocessing
import os
import random
import signal
import sys
from collections import Counter

import pytest

from atleastone import some
from mockexecutor import MockEnd, MockExecutor
from mockruns import (
    alone,
    carried_out,
    carry_out,
    done_run,
    events_of,
    failing,
    result_of,
    site,
)
from pyscale.errors import UserError
from pyscale.measuring.trialrecords import Failure
from pyscale.planning.suite import load_suite
from pyscale.store.folder import RunFolder
from pyscale.store.taskfiles import read_cache, read_task
from pyscale_stages.contract import TaskError
from pyscale_stages.measure.nodename import node_name
from refusals import refused


def every_task(plan):
    return [(trial.id, task) for trial in plan.trials for task in trial.tasks]


def states(run):
    return {read_task(run.task(run.plan.trial(t), task)).state for t, task in every_task(run.plan)}


def started_of(executor, trial):
    return [task for this_trial, task in executor.started if this_trial == trial]


class TestADoneRun:
    @pytest.fixture(scope="class")
    def executor(self):
        return MockExecutor()

    @pytest.fixture(scope="class")
    def done(self, tmp_path_factory, executor):
        return done_run(tmp_path_factory.mktemp("done"), executor)

    def test_ran_all_trials_in_the_order_of_the_plan(self, done, executor):
        # Pretended workers write the same bytes, which are compared once.
        checks = [one for one in every_task(done.plan) if one[1] == "check"]
        of_entry = {done.plan.trial(trial).entry: (trial, "check") for trial, _ in checks[::-1]}
        again = {*checks} - {*of_entry.values()}
        assert executor.started == [one for one in every_task(done.plan) if one not in again]
        assert states(done) == {"done"}

    def test_compared_outputs_of_the_same_bytes_once_and_says_so_of_the_others(self, done):
        found = [
            read_task(done.task(trial, "check"))
            for trial in done.plan.trials
            if trial.entry == "contact" and "check" in trial.tasks
        ]
        first, *others = found
        assert first.order.as_before is None
        for other in some(others):
            assert other.order.as_before is not None
            assert other.result.agreement == first.result.agreement
            assert other.result.spec.inputs != first.result.spec.inputs
            assert (other.launch, other.result.wall_s) == (None, 0)

    def test_fed_each_stage_with_the_baseline_output_of_the_one_before(self, done):
        source = done.output(done.plan.trial("register_denoise-n1-b1"))
        for trial in some(trial for trial in done.plan.trials if trial.entry == "segment"):
            spec = result_of(done, trial.id, "w0").spec
            assert spec.inputs == (("frames", source / "frames.ome.tif"),)

    def test_kept_reference_outputs_alone(self, done):
        kept = {folder.parent.parent.name for folder in done.path.glob("tasks/*/*/out")}
        assert kept == {trial.id for trial in done.plan.trials if trial.is_reference}

    def test_evicted_inputs_and_proved_them_cold_before_each_trial(self, done):
        for trial in some(done.plan.trials):
            cache = read_cache(done.trial(trial))
            assert cache is not None
            assert cache.asked == "cold"
            assert cache.state in {"verified-cold", "unsupported"}
            assert [eviction.path.name for eviction in cache.evictions]

    def test_starts_nothing_when_it_is_resumed(self, done):
        again = MockExecutor()
        assert carry_out(done, again) == ()
        assert again.started == []


def slow_at_the_end(_trial, _task, spec):
    """Each frame takes a second more than the one before it."""
    return MockEnd(wall_s=sum(range(*spec.frames)) + 1.0) if spec.frames else MockEnd()


class TestMoreWindowsThanWorkers:
    @pytest.fixture(scope="class")
    def executor(self):
        return MockExecutor(slow_at_the_end)

    @pytest.fixture(scope="class")
    def done(self, tmp_path_factory, executor):
        return done_run(tmp_path_factory.mktemp("done"), executor, chunks_per_worker=4)

    def test_those_that_took_longest_before_start_first(self, done, executor):
        for block in (1, 2):
            # The baseline told of its quarters; within a quarter the movie's order stays.
            *windows, merge = (
                task for task in started_of(executor, f"contact-n2-b{block}") if task != "check"
            )
            assert windows == ["w6", "w7", "w4", "w5", "w2", "w3", "w0", "w1"]
            assert merge == "merge"
        # Nothing is known to the first trial of a stage.
        assert started_of(executor, "contact-n1-b1") == ["w0", "w1", "w2", "w3", "merge"]

    def test_no_more_run_at_once_than_there_are_workers(self, done, executor):
        for batch in some(executor.batches):
            assert batch.at_once == (batch.trial.workers if batch.name == "windows" else 1)

    def test_a_task_processes_the_window_of_its_name_and_the_merge_has_them_in_order(self, done):
        trial = done.plan.trial("contact-n2-b1")
        for window, task in zip(trial.windows, trial.window_tasks, strict=True):
            assert result_of(done, trial.id, task).spec.frames == window
        joined = result_of(done, trial.id, "merge").spec.inputs
        assert [name for name, _ in joined] == [f"w{window}" for window in range(8)]


def test_a_trial_that_failed_says_nothing_of_which_windows_take_long(make, tmp_path):
    counts = {"workers": (1, 2, 4), "chunks_per_worker": 2, "repeats": 1, "retries": 0}
    plan = make(only=("register_denoise",), **counts)
    _, failed, last = plan.trials
    slowest = failed.window_tasks[-1]

    def behaviour(trial, task, spec):
        if (trial, task) == (failed.id, slowest):
            return MockEnd(returncode=1, wall_s=100.0)
        return MockEnd(wall_s=len(range(*spec.frames))) if spec.frames else MockEnd()

    executor = MockExecutor(behaviour)
    run = RunFolder.create(tmp_path / "runs", plan)
    assert carry_out(run, executor) == (failed.id,)
    assert started_of(executor, last.id)[: len(last.windows)] == [*last.window_tasks]


def test_as_many_windows_as_workers_start_in_the_order_of_the_movie(run):
    executor = MockExecutor(slow_at_the_end)
    carry_out(run, executor)
    assert started_of(executor, "contact-n2-b2") == ["w0", "w1", "merge"]


def test_on_a_cluster_the_first_task_on_each_node_prepares_the_inputs(run):
    carry_out(run, MockExecutor(on_this_node=False))
    trial = run.plan.trial("register_denoise-n2-b1")
    assert read_cache(run.trial(trial)) is None
    for task in trial.tasks:
        order = read_task(run.task(trial, task)).order
        assert order is not None
        assert (order.node_work is not None) == (task in trial.window_tasks)
        if order.node_work is not None:
            assert order.node_work.folder == run.trial(trial)
            assert order.node_work.inputs == (run.plan.movie,)


def test_what_measures_the_machine_has_its_folder_left_as_it_is(make_of, tmp_path):
    files_of_others = tmp_path / "place" / "theirs"
    files_of_others.parent.mkdir()
    files_of_others.touch()
    suite = alone(load_suite("system_brief"), "storage")
    plan = make_of(suite, dataset=None, cache="cold", path=files_of_others.parent)
    run = carried_out(plan, tmp_path)
    for trial in some(plan.trials):
        cache = read_cache(run.trial(trial))
        assert cache is not None
        assert (cache.asked, cache.evictions) == ("asis", ())


@pytest.mark.parametrize(
    ("task", "first_starts", "attempts"),
    # A merge belongs to the time of a trial: one that was retried is not a first attempt.
    [("w1", 2, 2), ("merge", 1, 2), ("check", 1, 1)],
)
def test_a_failed_trial_is_tried_again_as_a_whole_and_a_merge_or_check_alone(
    run, task, first_starts, attempts
):
    executor = failing("segment-n2-b1", task, times=1)
    assert carry_out(run, executor) == ()
    assert executor.started.count(("segment-n2-b1", "w0")) == first_starts
    assert executor.started.count(("segment-n2-b1", task)) == 2
    assert run.attempts(run.plan.trial("segment-n2-b1")) == attempts
    assert len(events_of(run, "trial_retried", trial="segment-n2-b1")) == 1


def test_a_failure_on_a_cluster_names_the_node_as_a_file_may_be_missing_there_alone(make, tmp_path):
    plan = make(only=("register_denoise",), workers=(1,), repeats=1, on_site=site())
    run = RunFolder.create(tmp_path / "runs", plan)
    carry_out(run, failing("register_denoise-n1-b1", "w0"))
    details = {event.detail for event in events_of(run, "trial_failed")}
    assert details == {f"w0 on {node_name()}: mock failure in w0"}
    lost = Failure("w0", TaskError(kind="Killed", message="killed on n1", exit_code=1), "n1")
    assert lost.told == "w0: killed on n1"


def test_a_check_that_keeps_failing_ends_alone_and_says_why(run):
    trial = "register_denoise-n2-b1"
    executor = failing(trial, "check")
    # It is of a baseline, which still feeds the next stages.
    assert carry_out(run, executor) == (trial,)
    assert executor.started.count((trial, "check")) == 2
    record = read_task(run.task(run.plan.trial(trial), "check"))
    assert record.error is not None
    assert "mock failure in check" in record.error.message


def test_stages_whose_input_is_missing_are_skipped_with_the_reason(run):
    incomplete = carry_out(run, failing("segment-n1-b1", "w0"))
    skipped = events_of(run, "trial_skipped")
    assert {event.trial for event in skipped} == set(incomplete) - {"segment-n1-b1"}
    assert all("segment-n1-b1, is missing" in event.detail for event in skipped)
    assert not any(trial.startswith("register") for trial in incomplete)


class TestResuming:
    @pytest.fixture
    def left(self, run):
        carry_out(run, failing("track-n2-b1", "w0"))
        return run

    def test_is_refused_in_one_sentence_where_a_record_is_unreadable(self, left):
        (left.task(left.plan.trial("track-n1-b1"), "w0") / "result.json").write_text('{"old": 1}')
        with refused(UserError):
            carry_out(left)

    def test_is_refused_before_anything_starts_where_the_movie_changed(self, left, movie):
        movie.write_bytes(movie.read_bytes() + b" ")
        executor = MockExecutor()
        with refused(UserError):
            carry_out(left, executor)
        assert executor.started == []


def killed_after(calls, run):
    """Carry a run out in a process that SIGKILL ends once it has called so many functions."""
    left = iter(range(calls))

    def count(*_event):
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    carry_out(run)


def calls_of(run):
    """Carry a run out; return how many functions were called, and returned."""
    counter = itertools.count()
    sys.setprofile(lambda *_event: next(counter))
    carry_out(run)
    sys.setprofile(None)
    return next(counter)


@pytest.mark.slow
def test_killed_at_any_moment_a_run_resumes_to_the_undisturbed_set_of_results(run, make, tmp_path):
    """SIGKILL falls at 30 random moments; each time a new process goes on."""
    # Nine of the longest are too few to carry out the run between them.
    most = calls_of(RunFolder.create(tmp_path / "undisturbed", make())) // 10
    moments = random.Random(20)
    fork = multiprocessing.get_context("fork")
    kills = 0
    for _ in range(30):
        process = fork.Process(target=killed_after, args=(moments.randrange(most), run))
        process.start()
        process.join()
        kills += process.exitcode == -signal.SIGKILL
    assert carry_out(run) == ()
    assert kills > 10
    assert all(result_of(run, trial, task) for trial, task in every_task(run.plan))
    finished = Counter(event.trial for event in events_of(run, "trial_finished"))
    assert finished == Counter({trial.id: 1 for trial in run.plan.trials})
    assert not list(run.path.rglob("*.failed-*"))

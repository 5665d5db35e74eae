"""Trials run in order, are tried again, resumed and skipped as they should be."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from pyscale.benchmark import Outcome, execute
from pyscale.errors import UserError
from pyscale.executors.mock import MockEnd, MockExecutor
from pyscale.executors.protocol import Batch
from pyscale.plan import Plan
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Event, Journal
from pyscale.store.taskfiles import read_cache, read_task
from pyscale.suite import load_suite
from pyscale_stages.contract import TaskSpec


def carry_out(run: RunFolder, executor: MockExecutor) -> Outcome:
    return execute(run, executor, lambda _event: None)


def failing(task: str, trial: str, *, times: int = 99, code: int | None = 1) -> MockExecutor:
    """An executor on which one task fails the first few times."""
    tries: Counter[str] = Counter()

    def behaviour(this_trial: str, this_task: str, _spec: TaskSpec) -> MockEnd:
        if (this_trial, this_task) != (trial, task):
            return MockEnd()
        tries[this_task] += 1
        return MockEnd(returncode=code if tries[this_task] <= times else 0)

    return MockExecutor(behaviour)


def states(run: RunFolder) -> dict[str, str]:
    return {
        f"{trial.id}/{task}": read_task(run.task(trial, task)).state
        for trial in run.plan.trials
        for task in trial.tasks
    }


def kinds(run: RunFolder, trial: str) -> list[str]:
    return [event.kind for event in Journal(run.journal_file).read() if event.trial == trial]


def test_all_trials_run_in_the_order_of_the_plan(run: RunFolder) -> None:
    executor = MockExecutor()
    outcome = carry_out(run, executor)
    wanted = [(trial.id, task) for trial in run.plan.trials for task in trial.tasks]
    assert executor.started == wanted
    assert outcome.incomplete == ()
    assert set(states(run).values()) == {"done"}


def test_workers_of_a_trial_process_its_windows(run: RunFolder) -> None:
    carry_out(run, MockExecutor())
    trial = run.plan.trial("segment-n2-b1")
    specs = [read_task(run.task(trial, task)).result for task in trial.window_tasks]
    assert [result.spec.frames for result in specs if result] == [(0, 4), (4, 8)]


def started_of(executor: MockExecutor, trial: str) -> list[str]:
    return [task for this_trial, task in executor.started if this_trial == trial]


def slow_at_the_end(_trial: str, _task: str, spec: TaskSpec) -> MockEnd:
    """Each frame takes a second more than the one before it."""
    return MockEnd(wall_s=sum(range(*spec.frames)) + 1.0) if spec.frames else MockEnd()


class TestMoreWindowsThanWorkers:
    @pytest.fixture
    def run(self, make: Callable[..., Plan], tmp_path: Path) -> RunFolder:
        return RunFolder.create(tmp_path / "runs", make(chunks_per_worker=4))

    def test_those_that_took_longest_before_start_first(self, run: RunFolder) -> None:
        executor = MockExecutor(slow_at_the_end)
        assert carry_out(run, executor).incomplete == ()
        movie_order = [f"w{window}" for window in range(8)]
        for block in (1, 2):
            started = started_of(executor, f"contact-n2-b{block}")
            assert set(started[:8]) == set(movie_order)
            assert started[8:] == ["merge", "check"]
            # The baseline told of its quarters; within a quarter the movie's order stays.
            assert started[:8] == ["w6", "w7", "w4", "w5", "w2", "w3", "w0", "w1"]

    def test_the_first_trial_of_a_stage_takes_them_as_they_come(self, run: RunFolder) -> None:
        executor = MockExecutor(slow_at_the_end)
        carry_out(run, executor)
        assert started_of(executor, "contact-n1-b1") == ["w0", "w1", "w2", "w3", "merge"]

    def test_no_more_run_at_once_than_there_are_workers(self, run: RunFolder) -> None:
        executor = MockExecutor()
        carry_out(run, executor)
        for batch in executor.batches:
            assert batch.at_once == (batch.trial.workers if batch.name == "windows" else 1)

    def test_a_task_processes_the_window_of_its_name(self, run: RunFolder) -> None:
        carry_out(run, MockExecutor(slow_at_the_end))
        trial = run.plan.trial("contact-n2-b1")
        for window, task in zip(trial.windows, trial.window_tasks, strict=True):
            result = read_task(run.task(trial, task)).result
            assert result is not None
            assert result.spec.frames == window

    def test_the_merge_joins_them_in_the_order_of_the_movie(self, run: RunFolder) -> None:
        carry_out(run, MockExecutor(slow_at_the_end))
        result = read_task(run.task(run.plan.trial("contact-n2-b1"), "merge")).result
        assert result is not None
        assert [name for name, _ in result.spec.inputs] == [f"w{window}" for window in range(8)]


def test_as_many_windows_as_workers_start_in_the_order_of_the_movie(run: RunFolder) -> None:
    executor = MockExecutor(slow_at_the_end)
    carry_out(run, executor)
    assert started_of(executor, "contact-n2-b2") == ["w0", "w1", "merge", "check"]


def test_on_a_cluster_the_first_task_on_each_node_prepares_the_inputs(run: RunFolder) -> None:
    carry_out(run, MockExecutor(on_this_node=False))
    trial = run.plan.trial("register_denoise-n2-b1")
    assert read_cache(run.trial(trial)) is None
    for task in trial.tasks:
        order = read_task(run.task(trial, task)).order
        assert order is not None
        if task not in trial.window_tasks:
            assert order.node_work is None
            continue
        assert order.node_work is not None
        assert order.node_work.folder == run.trial(trial)
        assert order.node_work.inputs == (run.plan.movie,)


def test_a_stage_reads_the_baseline_output_of_its_predecessor(run: RunFolder) -> None:
    carry_out(run, MockExecutor())
    for trial in run.plan.trials:
        if trial.entry == "segment":
            result = read_task(run.task(trial, "w0")).result
            assert result is not None
            source = run.output(run.plan.trial("register_denoise-n1-b1"))
            assert result.spec.inputs == (("frames", source / "frames.ome.tif"),)


def test_only_reference_outputs_are_kept(run: RunFolder) -> None:
    carry_out(run, MockExecutor())
    kept = {folder.parent.parent.name for folder in run.path.glob("tasks/*/*/out")}
    assert kept == {trial.id for trial in run.plan.trials if trial.is_reference}


def test_inputs_are_evicted_and_proved_cold_before_each_trial(run: RunFolder) -> None:
    carry_out(run, MockExecutor())
    for trial in run.plan.trials:
        cache = read_cache(run.trial(trial))
        assert cache is not None
        assert cache.asked == "cold"
        assert cache.state in {"verified-cold", "unsupported"}
        assert [eviction.path.name for eviction in cache.evictions]


def test_what_measures_the_machine_has_its_folder_left_as_it_is(
    make_of: Callable[..., Plan], tmp_path: Path
) -> None:
    files_of_others = tmp_path / "place" / "theirs"
    files_of_others.parent.mkdir()
    files_of_others.touch()
    brief = load_suite("system_brief")
    only_storage = {"storage": brief.stages["storage"].model_copy(update={"threads": 1})}
    suite = brief.model_copy(update={"stages": only_storage})
    plan = make_of(suite, dataset=None, cache="cold", path=files_of_others.parent)
    run = RunFolder.create(tmp_path / "runs", plan)
    carry_out(run, MockExecutor())
    for trial in plan.trials:
        cache = read_cache(run.trial(trial))
        assert cache is not None
        assert (cache.asked, cache.evictions) == ("asis", ())


def test_a_failed_trial_is_tried_again_as_a_whole(run: RunFolder) -> None:
    executor = failing("w1", "segment-n2-b1", times=1)
    assert carry_out(run, executor).incomplete == ()
    assert executor.started.count(("segment-n2-b1", "w0")) == 2
    assert kinds(run, "segment-n2-b1").count("trial_retried") == 1
    assert run.attempts(run.plan.trial("segment-n2-b1")) == 2


@pytest.mark.parametrize("task", ["merge", "check"])
def test_a_merge_or_check_that_failed_is_tried_again_alone(run: RunFolder, task: str) -> None:
    executor = failing(task, "segment-n2-b1", times=1)
    assert carry_out(run, executor).incomplete == ()
    assert executor.started.count(("segment-n2-b1", "w0")) == 1
    assert executor.started.count(("segment-n2-b1", task)) == 2
    # A merge belongs to the time of a trial: one that was retried is not a first attempt.
    assert run.attempts(run.plan.trial("segment-n2-b1")) == (2 if task == "merge" else 1)


def test_a_trial_that_keeps_failing_ends_alone(run: RunFolder) -> None:
    outcome = carry_out(run, failing("w1", "segment-n2-b1"))
    assert outcome.incomplete == ("segment-n2-b1",)


def test_a_task_that_vanished_is_a_failure_with_words(run: RunFolder) -> None:
    outcome = carry_out(run, failing("w0", "track-n2-b2", code=None))
    assert outcome.incomplete == ("track-n2-b2",)
    record = read_task(run.task(run.plan.trial("track-n2-b2"), "w0"))
    assert record.error is not None
    assert "vanished without a message" in record.error.message


def test_bad_input_is_not_tried_again(run: RunFolder) -> None:
    executor = failing("w0", "segment-n2-b1", code=2)
    carry_out(run, executor)
    assert executor.started.count(("segment-n2-b1", "w0")) == 1


def test_stages_whose_input_is_missing_are_skipped_with_the_reason(run: RunFolder) -> None:
    outcome = carry_out(run, failing("w0", "segment-n1-b1"))
    skipped = [event for event in Journal(run.journal_file).read() if event.kind == "trial_skipped"]
    assert {event.trial for event in skipped} == set(outcome.incomplete) - {"segment-n1-b1"}
    assert all("segment-n1-b1, is missing" in event.detail for event in skipped)
    assert not any(trial.startswith("register") for trial in outcome.incomplete)


def test_a_baseline_whose_check_failed_still_feeds_the_next_stages(run: RunFolder) -> None:
    trial = run.plan.trial("register_denoise-n2-b1")
    outcome = carry_out(run, failing("check", trial.id))
    assert outcome.incomplete == (trial.id,)


def test_an_unreadable_record_ends_the_run_in_one_sentence(run: RunFolder) -> None:
    carry_out(run, MockExecutor())
    (run.task(run.plan.trial("track-n1-b1"), "w0") / "result.json").write_text('{"old": 1}')
    with pytest.raises(UserError, match="result.json cannot be read by this pyscale"):
        carry_out(run, MockExecutor())


def test_a_movie_that_changed_ends_a_resume_before_it_starts(run: RunFolder, movie: Path) -> None:
    carry_out(run, failing("w0", "track-n2-b1"))
    movie.write_bytes(movie.read_bytes() + b" ")
    executor = MockExecutor()
    with pytest.raises(UserError, match="movie.ome.tif .*has changed since the run"):
        carry_out(run, executor)
    assert executor.started == []


def test_workers_on_another_node_are_left_to_it(run: RunFolder) -> None:
    carry_out(run, failing("w0", "track-n2-b1"))
    folder = run.task(run.plan.trial("track-n2-b1"), "w1")
    (folder / "exit.json").unlink()
    launch = json.loads((folder / "launch.json").read_text())
    (folder / "launch.json").write_text(json.dumps(launch | {"node": "elsewhere"}))
    with pytest.raises(UserError, match="was started on elsewhere"):
        carry_out(run, MockExecutor())


def test_resuming_a_complete_run_starts_nothing(run: RunFolder) -> None:
    carry_out(run, MockExecutor())
    again = MockExecutor()
    assert carry_out(run, again).incomplete == ()
    assert again.started == []


def test_resuming_tries_what_failed_and_nothing_else(run: RunFolder) -> None:
    carry_out(run, failing("w0", "track-n2-b1"))
    again = MockExecutor()
    assert carry_out(run, again).incomplete == ()
    assert {trial for trial, _ in again.started} == {"track-n2-b1"}


@pytest.mark.parametrize(
    ("task", "repeated"), [("w1", ["w0", "w1", "merge", "check"]), ("merge", ["merge", "check"])]
)
def test_a_timed_part_that_is_complete_is_never_repeated(
    run: RunFolder, task: str, repeated: list[str]
) -> None:
    class Killed(BaseException):
        pass

    def behaviour(trial: str, this_task: str, _spec: TaskSpec) -> MockEnd:
        if (trial, this_task) == ("contact-n2-b2", task):
            raise Killed
        return MockEnd()

    with pytest.raises(Killed):
        carry_out(run, MockExecutor(behaviour))
    again = MockExecutor()
    assert carry_out(run, again).incomplete == ()
    assert [t for trial, t in again.started if trial == "contact-n2-b2"] == repeated
    assert run.attempts(run.plan.trial("contact-n2-b2")) == 1, "an interruption is no failure"


def results(run: RunFolder) -> dict[str, TaskSpec]:
    found = {}
    for trial in run.plan.trials:
        for task in trial.tasks:
            result = read_task(run.task(trial, task)).result
            assert result is not None, f"{trial.id}/{task}"
            found[f"{trial.id}/{task}"] = result.spec
    return found


def killed_after(calls: int, run: RunFolder) -> None:
    """Carry a run out in a process that SIGKILL ends once it has called so many functions."""
    left = iter(range(calls))

    def count(*_event: object) -> None:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    carry_out(run, MockExecutor())


def calls_of(run: RunFolder) -> int:
    """Carry a run out; return how many functions were called, and returned."""
    counter = itertools.count()
    sys.setprofile(lambda *_event: next(counter))
    carry_out(run, MockExecutor())
    sys.setprofile(None)
    return next(counter)


@pytest.mark.slow
def test_killed_at_any_moment_a_run_resumes_to_the_undisturbed_set_of_results(
    run: RunFolder, make: Callable[..., Plan], tmp_path: Path
) -> None:
    """SIGKILL falls at 60 random moments; each time a new process goes on."""
    # Nine of the longest are too few to carry out the run between them.
    most = calls_of(RunFolder.create(tmp_path / "undisturbed", make())) // 10
    moments = random.Random(20)
    fork = multiprocessing.get_context("fork")
    kills = 0
    for _ in range(60):
        process = fork.Process(target=killed_after, args=(moments.randrange(most), run))
        process.start()
        process.join()
        kills += process.exitcode == -signal.SIGKILL
    assert carry_out(run, MockExecutor()).incomplete == ()
    assert kills > 20
    specs = results(run)
    assert len(specs) == sum(len(trial.tasks) for trial in run.plan.trials)
    finished = Counter(
        event.trial for event in Journal(run.journal_file).read() if event.kind == "trial_finished"
    )
    assert finished == Counter({trial.id: 1 for trial in run.plan.trials})
    assert not list(run.path.rglob("*.failed-*"))


def test_events_reach_the_listener_in_order(run: RunFolder) -> None:
    heard: list[Event] = []
    execute(run, MockExecutor(), heard.append)
    assert heard[0].kind == "run_started"
    assert heard[-1].kind == "run_finished"
    assert [e.trial for e in heard if e.kind == "trial_finished"] == [
        trial.id for trial in run.plan.trials
    ]


def test_the_plan_survives_a_round_trip(run: RunFolder) -> None:
    assert RunFolder(Path(run.path)).plan == run.plan


class TestTrialsQueuedAhead:
    """On a cluster; the mock's queue runs what it holds when that is waited for."""

    def test_those_whose_inputs_are_there_wait_together_and_run_in_their_order(
        self, run: RunFolder
    ) -> None:
        executor = MockExecutor(on_this_node=False, room=1000)
        outcome = carry_out(run, executor)
        assert outcome.complete == tuple(trial.id for trial in run.plan.trials)
        # Every one of them was queued, and none twice.
        tasks = [(trial.id, task) for trial in run.plan.trials for task in trial.tasks]
        assert executor.queued == executor.taken_up == tasks
        events = Journal(run.journal_file).read()
        started = [event.trial for event in events if event.kind == "trial_started"]
        assert started == [trial.id for trial in run.plan.trials]
        known: set[str] = set()
        ended: set[str] = set()
        waits_behind = 0
        for event in events:
            assert event.trial is None or event.kind != "trial_taken_up"
            if event.kind == "trial_finished":
                ended.add(str(event.trial))
            if event.kind == "submitted" and event.trial not in known:
                known.add(str(event.trial))
                trial = run.plan.trial(str(event.trial))
                # What it reads and is compared with was there.
                assert ended >= {item.from_trial for item in trial.inputs if item.from_trial}
                waits_behind += len(known) - len(ended) > 1
        assert waits_behind

    def test_a_full_queue_is_told_once_and_the_run_goes_on(self, run: RunFolder) -> None:
        executor = MockExecutor(on_this_node=False, room=2)
        outcome = carry_out(run, executor)
        assert outcome.complete == tuple(trial.id for trial in run.plan.trials)
        told = [e for e in Journal(run.journal_file).read() if e.kind == "queue_full"]
        assert [event.detail for event in told] == ["its queue is full"]
        assert len(executor.queued) + len(executor.started) == len(states(run))

    def test_one_that_fails_is_tried_again_as_a_whole(self, run: RunFolder) -> None:
        executor = failing("w0", "contact-n2-b1", times=1)
        executor.on_this_node, executor.room = False, 1000
        outcome = carry_out(run, executor)
        assert outcome.complete == tuple(trial.id for trial in run.plan.trials)
        failed = next(e for e in Journal(run.journal_file).read() if e.kind == "trial_failed")
        assert failed.detail.startswith("w0:")
        assert ("contact-n2-b1", "w0") in executor.started

    def test_what_a_killed_pyscale_queued_is_taken_up_by_the_next(self, run: RunFolder) -> None:
        def killed(trial: str, _task: str, _spec: TaskSpec) -> MockEnd:
            if trial.endswith("b2"):
                raise KeyboardInterrupt
            return MockEnd()

        with pytest.raises(KeyboardInterrupt):
            carry_out(run, MockExecutor(killed, on_this_node=False, room=1000))
        executor = MockExecutor(on_this_node=False, takes_up=True, room=1000)
        outcome = carry_out(run, executor)
        assert outcome.complete == tuple(trial.id for trial in run.plan.trials)
        # Nothing was ordered twice.
        assert not any("." in path.name for path in (run.path / "tasks").iterdir())

    def test_one_that_failed_before_its_turn_is_told_and_tried_again(self, run: RunFolder) -> None:
        class Fast(MockExecutor):
            def queue(self, batch: Batch) -> str | None:
                refused = super().queue(batch)
                for folder in () if refused else batch.orders:
                    self._pretend(folder)
                return refused

            def take_up(self, batch: Batch) -> bool:
                return bool(batch.orders)

        fails_once = failing("w0", "contact-n2-b2", times=1)
        outcome = carry_out(run, Fast(fails_once._behaviour, on_this_node=False, room=1000))
        assert outcome.complete == tuple(trial.id for trial in run.plan.trials)
        told = kinds(run, "contact-n2-b2")
        assert [kind for kind in told if kind.startswith("trial_")] == [
            "trial_started",
            "trial_failed",
            "trial_retried",
            "trial_started",
            "trial_finished",
        ]

"""Runs one trial: its workers at once, then the merge, then what compares its output.

What each task has to do, and how it is started, is written first.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pyscale.executors.protocol import WINDOWS, Batch, Executor
from pyscale.executors.surroundings import bring_inputs_to, look_around
from pyscale.measuring.trialrecords import COMPARING, Failure, TrialRecords, is_complete
from pyscale.planning.plan import Trial
from pyscale.planning.traits import meets
from pyscale.runtimes.starting import NativeRuntime, Runtime
from pyscale.store import records
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale.store.taskfiles import read_task, why_not_again, write_order
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Counters, Record, TaskSpec
from pyscale_stages.registry import load_stage


class TrialRunner:
    """Brings trials of one run to their end, from whatever state they are in."""

    def __init__(
        self, run: RunFolder, executor: Executor, journal: Journal, runtime: Runtime
    ) -> None:
        self._run = run
        self._executor = executor
        self._journal = journal
        self._tasks = TaskWriter(run, runtime)
        self._records = TrialRecords(run)
        self._settings = run.plan.settings
        self._compared: dict[Hashable, str] = {}
        """Trials whose outputs were compared, by what they are and what with."""
        self._finished = {event.trial for event in journal.read() if event.kind == "trial_finished"}

    def finish(self, trial: Trial) -> bool:
        """Do what is missing of a trial, with retries; return whether it is complete."""
        if is_complete(self._run, trial):
            # A pyscale that died just after the last record never said that it was the last.
            if trial.id not in self._finished:
                self._journal.append("trial_finished", trial.id)
            self._drop_outputs(trial)
            return True
        missing = self._records.missing_input(trial)
        if missing is not None:
            self._journal.append("trial_skipped", trial.id, detail=missing)
            return False
        for _ in range(1 + self._settings["retries"]):
            failure = self._attempt(trial)
            if failure is None:
                self._journal.append("trial_finished", trial.id)
                self._drop_outputs(trial)
                return True
            why_not = why_not_again(failure.error)
            told = f"; not retried, because {why_not}" if why_not else ""
            detail = f"{failure.told}{told}"
            self._journal.append("trial_failed", trial.id, detail=detail)
            if why_not is not None:
                return False
        return False

    def _make_room(self, trial: Trial) -> None:
        """Set aside what an earlier attempt left and has to be done again."""
        if not self._run.trial(trial).exists():
            return
        if not self._records.has_begun(trial):
            # It was in the queue alone.
            shutil.rmtree(self._run.trial(trial))
            return
        states = self._records.states(trial)
        workers = {states[task] for task in trial.window_tasks}
        if "failed" in workers:
            number = self._run.attempts(trial) + 1
            self._journal.append("trial_retried", trial.id, detail=f"attempt {number}")
            self._run.set_aside(trial, "failed")
        elif workers != {"done"}:
            self._run.set_aside(trial, "interrupted")
            self._journal.append("trial_interrupted", trial.id)
        else:
            # Workers run at once, so none is measured again alone; what follows them can be.
            for task, state in states.items():
                if state == "failed":
                    self._journal.append("trial_retried", trial.id, detail=f"its {task} alone")
                    self._run.set_task_aside(trial, task, "failed")
                elif state != "done":
                    self._run.set_task_aside(trial, task, "interrupted")

    def _attempt(self, trial: Trial) -> Failure | None:
        """Run the tasks of a trial that have no record, as far as they succeed."""
        self._make_room(trial)
        before: records.Bystanders | None = None
        steps = self._records.steps_left(trial)
        if steps and steps[0][0] == WINDOWS:
            if self._executor.on_this_node:
                before = look_around()
                cache = bring_inputs_to(
                    self._cache(trial), self._input_paths(trial), self._run.plan.files_by(trial)
                )
                self._write(trial, records.CACHE_FILE, cache)
            self._journal.append("trial_started", trial.id)
        elif steps:
            self._journal.append("trial_continued", trial.id, detail="its workers are done")
        for name, tasks in steps:
            if alone := self._records.stands_alone(trial, name):
                return alone
            same = self._of_same_bytes(trial, name)
            if same in self._compared:
                self._tasks.write_as_before(trial, name, self._compared[same])
                continue
            for task in tasks:
                self._tasks.write_spec(trial, task)
            self._executor.run(self._batch(trial, name, tasks))
            if before is not None and name == WINDOWS:
                surroundings = records.Surroundings(start=before, end=look_around())
                self._write(trial, records.SURROUNDINGS_FILE, surroundings)
            failure = self._records.failure(trial, tasks)
            if failure is not None:
                return failure
            if same is not None:
                self._compared[same] = trial.id
        return None

    def _of_same_bytes(self, trial: Trial, name: str) -> Hashable:
        """What a comparison's outcome depends on; None where that is not known, or is no such."""
        if name not in COMPARING:
            return None
        other = trial.beside_trial if name == "beside" else trial.reference_trial
        files = self._records.bytes_of_output(trial)
        return (name, other, trial.entry, trial.truth, files) if files else None

    def _write(self, trial: Trial, name: str, record: Record) -> None:
        write_atomically(self._run.trial(trial) / name, record.model_dump_json(indent=1) + "\n")

    def _batch(self, trial: Trial, name: str, tasks: Sequence[str]) -> Batch:
        def submitted(jobs: Mapping[str, str]) -> None:
            self._journal.append(
                "submitted", trial.id, tuple(jobs.values()), detail=", ".join(jobs)
            )

        node_work = None
        if name == WINDOWS and not self._executor.on_this_node:
            node_work = records.NodeWork(
                folder=self._run.trial(trial),
                cache=self._cache(trial),
                inputs=tuple(self._input_paths(trial)),
                reading=self._run.plan.files_by(trial),
            )
        return Batch(
            trial=trial,
            name=name,
            orders=self._tasks.drafts(trial, tasks, node_work),
            at_once=trial.processes if name == WINDOWS else 1,
            threads=self._run.plan.threads_of(trial),
            submitted=submitted,
        )

    def _cache(self, trial: Trial) -> Literal["cold", "warm", "asis"]:
        """State that the inputs are to be in, where there are any that were not made by it."""
        asked: Literal["cold", "warm", "asis"] = self._settings["cache"]
        return asked if any(not item.is_place for item in trial.inputs) else "asis"

    def _input_paths(self, trial: Trial) -> list[Path]:
        """What the windows of a trial read; a folder that is measured holds files of others."""
        places = {item.slot for item in trial.inputs if item.is_place}
        return [path for slot, path in self._tasks.inputs(trial) if slot not in places]

    def _drop_outputs(self, trial: Trial) -> None:
        if self._settings["keep_outputs"] != "all" and not self._run.plan.keeps_output(trial):
            self._run.drop_outputs(trial)


class TaskWriter:
    """Writes specifications and drafts orders; the runtime starts what has no other environment."""

    def __init__(self, run: RunFolder, runtime: Runtime) -> None:
        self._run = run
        self._runtime = runtime
        self._settings = run.plan.settings

    def write_spec(self, trial: Trial, task: str) -> None:
        """Write what a task has to do."""
        folder = self._run.task(trial, task)
        # Not with all its parents: the run's folder may have been moved meanwhile.
        folder.parent.mkdir(exist_ok=True)
        folder.mkdir()
        spec = self._spec(trial, task)
        if spec.meeting is not None:
            spec.meeting.parent.mkdir(exist_ok=True)
        write_atomically(folder / records.SPEC_FILE, spec.model_dump_json(indent=1) + "\n")
        write_atomically(folder / records.PARAMS_FILE, json.dumps(spec.params, indent=1) + "\n")

    def drafts(
        self, trial: Trial, tasks: Sequence[str], node_work: records.NodeWork | None
    ) -> dict[Path, records.TaskOrder]:
        """How tasks are started, but for what the executor knows, by their folders."""
        drafts = {}
        for task in tasks:
            folder = self._run.task(trial, task)
            spec = self._spec(trial, task)
            rank = None if spec.meeting is None else spec.rank
            known = {"node_work": node_work, "meeting": spec.meeting, "rank": rank}
            start = self._runtime_of(trial).start(spec, folder, trial.image)
            drafts[folder] = start.model_copy(update=known)
        return drafts

    def write_as_before(self, trial: Trial, task: str, compared: str) -> None:
        """Record a comparison whose outcome is that of another trial with the same two outputs."""
        before = read_task(self._run.task(self._run.plan.trial(compared), task)).result
        assert before is not None, "a comparison that was remembered has a result"
        self.write_spec(trial, task)
        folder = self._run.task(trial, task)
        token = write_order(folder, records.TaskOrder(argv=(), as_before=compared))
        now = datetime.now(UTC)
        nothing = {"wall_s": 0.0, "spans": (), "counters": Counters(), "page_cache": ()}
        times = {"start_utc": now, "end_utc": now}
        result = before.model_copy(update={"spec": self._spec(trial, task), **times, **nothing})
        ended = records.ExitRecord(token=token, returncode=0, end_utc=now)
        for name, record in ((records.RESULT_FILE, result), (records.EXIT_FILE, ended)):
            write_atomically(folder / name, record.model_dump_json(indent=1) + "\n")

    def _runtime_of(self, trial: Trial) -> Runtime:
        # What has no image runs here, and starts one itself where the user names one.
        if trial.interpreter or trial.image is None:
            return NativeRuntime(trial.interpreter)
        return self._runtime

    def _spec(self, trial: Trial, task: str) -> TaskSpec:
        folder = self._run.task(trial, task)
        outside = load_stage(trial.stage).runs_outside
        common = TaskSpec(
            stage=trial.stage,
            workers=trial.workers if outside else None,
            inputs=(),
            params=trial.params,
            seed=self._settings["seed"],
            threads=self._run.plan.threads_of(trial),
            # Joining windows and comparing outputs needs no GPU, wherever they were computed.
            device="cpu",
        )
        if task == "merge":
            windows = tuple((w, self._run.task(trial, w) / "out") for w in trial.window_tasks)
            return common.model_copy(
                update={"verb": "merge", "inputs": windows, "output": folder / "out"}
            )
        if task in {"check", "beside"}:
            other = trial.beside_trial if task == "beside" else trial.reference_trial
            assert other is not None, "a trial without one has no such task"
            reference = self._run.output(self._run.plan.trial(other))
            return common.model_copy(
                update={
                    "verb": "check",
                    "inputs": (("reference", reference), ("other", self._run.output(trial))),
                    "truth": trial.truth if task == "check" else None,
                    "tolerance": self._run.plan.tolerance_of(trial),
                    "movie_frames": trial.movie_frames,
                }
            )
        return common.model_copy(
            update={
                "device": trial.device,
                "inputs": self.inputs(trial),
                "output": folder / "out",
                "reading": self._run.plan.reading_of(trial),
                **self._share(trial, int(task.removeprefix("w"))),
            }
        )

    def _share(self, trial: Trial, worker: int) -> dict[str, Any]:
        """What a worker has for itself: frames of the movie, or its rank among those it meets."""
        share: dict[str, Any] = {}
        if not meets(trial.stage):
            share = {"frames": trial.windows[worker], "movie_frames": trial.movie_frames}
        if not trial.meets or trial.workers == 1:
            return share
        # A folder to itself, for an image is shown nothing else that its ranks may all write into.
        meeting = self._run.trial(trial) / records.MEETING_FOLDER / records.MEETING_FILE
        return {**share, "rank": worker, "ranks": trial.workers, "meeting": meeting}

    def inputs(self, trial: Trial) -> tuple[tuple[str, Path], ...]:
        """Slot and path of everything that a trial's windows read."""
        resolved = []
        for item in trial.inputs:
            if item.path is not None:
                resolved.append((item.slot, item.path))
            elif item.from_trial and item.file:
                source = self._run.plan.trial(item.from_trial)
                resolved.append((item.slot, self._run.output(source) / item.file))
        return tuple(resolved)

"""Runs one trial: its workers at once, then the merge, then what compares its output."""

from __future__ import annotations

import shutil
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pyscale.executors.protocol import WINDOWS, Batch, Executor
from pyscale.executors.surroundings import bring_inputs_to, look_around
from pyscale.measuring.taskwriter import TaskWriter
from pyscale.measuring.trialrecords import COMPARING, Failure, TrialRecords, is_complete
from pyscale.planning.plan import Trial
from pyscale.runtimes.frozen import Runtime
from pyscale.store import records
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale.store.taskfiles import why_not_again
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record


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

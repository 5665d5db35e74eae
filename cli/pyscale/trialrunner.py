"""Runs one trial: its workers at once, then the merge, then the check against the baseline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

from pyscale.bystanders import look_around
from pyscale.errors import UserError
from pyscale.executors.protocol import Executor
from pyscale.executors.waiting import wait_for
from pyscale.inputcache import bring_inputs_to
from pyscale.placement import Placement
from pyscale.plan import Trial
from pyscale.runtimes.protocol import Runtime
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale.store.records import (
    CACHE_FILE,
    ORDER_FILE,
    PARAMS_FILE,
    SPEC_FILE,
    SURROUNDINGS_FILE,
    Bystanders,
    Surroundings,
    TaskOrder,
    read_task,
)
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import TaskError, TaskSpec
from pyscale_stages.errors import EXIT_BAD_INPUT
from pyscale_stages.measure.stamp import node_name


class TrialRunner:
    """Brings trials of one run to their end, from whatever state they are in.

    Parameters
    ----------
    run : RunFolder
    executor : Executor
    journal : Journal
    placement : Placement
        Which cores and GPUs each worker gets.
    runtime : Runtime
        How a task's process is started.
    """

    def __init__(
        self,
        run: RunFolder,
        executor: Executor,
        journal: Journal,
        placement: Placement,
        runtime: Runtime,
    ) -> None:
        self._run = run
        self._executor = executor
        self._journal = journal
        self._placement = placement
        self._runtime = runtime
        self._settings = run.plan.settings
        # Outputs that others need are kept, so what was whole once need not be looked at again.
        self._whole: set[str] = set()
        self._finished = {event.trial for event in journal.read() if event.kind == "trial_finished"}

    def finish(self, trial: Trial) -> bool:
        """Do what is missing of a trial; return whether it is complete.

        A failed trial is tried again as often as the settings allow. Bad input is not: the
        answer would be the same.
        """
        if self.is_complete(trial):
            # A pyscale that died just after the last record never said that it was the last.
            if trial.id not in self._finished:
                self._journal.append("trial_finished", trial.id)
            self._drop_outputs(trial)
            return True
        missing = self._missing_input(trial)
        if missing is not None:
            self._journal.append("trial_skipped", trial.id, detail=missing)
            return False
        for attempt in range(1 + self._settings["retries"]):
            if attempt:
                self._journal.append("trial_retried", trial.id, detail=f"attempt {attempt + 1}")
            self._make_room(trial)
            error = self._attempt(trial)
            if error is None:
                self._journal.append("trial_finished", trial.id)
                self._drop_outputs(trial)
                return True
            self._journal.append("trial_failed", trial.id, detail=error.message)
            if error.exit_code == EXIT_BAD_INPUT:
                break
        return False

    def refuse_workers_elsewhere(self) -> None:
        """Raise where tasks may still run on another node, out of this one's reach."""
        for trial in self._run.plan.trials:
            for task in trial.tasks:
                record = read_task(self._run.task(trial, task))
                launch = record.launch
                if record.state == "running" and launch and launch.node != node_name():
                    raise UserError(
                        f"{trial.id}/{task} of the run {self._run.path.name} was started on "
                        f"{launch.node} and may still run there: resume the run on that "
                        f"node, or remove {self._run.trial(trial)} if the node is gone"
                    )

    def is_complete(self, trial: Trial) -> bool:
        """Whether every task of the trial has its record."""
        return all(read_task(self._run.task(trial, task)).state == "done" for task in trial.tasks)

    def _make_room(self, trial: Trial) -> None:
        """Set aside an earlier attempt, unless all its workers have finished.

        Workers of one trial must run at once: a trial that lost one is run again as a whole.
        When only the merge or the check is missing, the timed part is complete and stays.
        """
        if not self._run.trial(trial).exists():
            return
        states = self._states(trial)
        workers = {states[task] for task in trial.window_tasks}
        if "failed" in workers:
            self._run.set_aside(trial, "failed")
        elif workers != {"done"}:
            self._run.set_aside(trial, "interrupted")
            self._journal.append("trial_interrupted", trial.id)
        else:
            for task, state in states.items():
                if state != "done":
                    why = "failed" if state == "failed" else "interrupted"
                    self._run.set_task_aside(trial, task, why)

    def _states(self, trial: Trial) -> dict[str, str]:
        return {task: read_task(self._run.task(trial, task)).state for task in trial.tasks}

    def _attempt(self, trial: Trial) -> TaskError | None:
        """Run the tasks of a trial that have no record; return the first error."""
        states = self._states(trial)
        before: Bystanders | None = None
        if any(states[task] != "done" for task in trial.window_tasks):
            before = look_around()
            self._prepare_cache(trial)
            self._journal.append("trial_started", trial.id)
            steps = [trial.window_tasks]
        else:
            self._journal.append("trial_continued", trial.id, detail="its workers are done")
            steps = []
        after = trial.tasks[trial.workers :]
        steps += [(task,) for task in after if states[task] != "done"]
        for tasks in steps:
            self._submit_and_wait(trial, tasks)
            if before is not None and tasks == trial.window_tasks:
                self._write_surroundings(trial, before)
            records = [read_task(self._run.task(trial, task)) for task in tasks]
            error = next((record.error for record in records if record.error), None)
            if error is not None:
                return error
        return None

    def _prepare_cache(self, trial: Trial) -> None:
        cache = bring_inputs_to(self._settings["cache"], [path for _, path in self._inputs(trial)])
        write_atomically(
            self._run.trial(trial) / CACHE_FILE, cache.model_dump_json(indent=1) + "\n"
        )

    def _write_surroundings(self, trial: Trial, before: Bystanders) -> None:
        surroundings = Surroundings(start=before, end=look_around())
        write_atomically(
            self._run.trial(trial) / SURROUNDINGS_FILE,
            surroundings.model_dump_json(indent=1) + "\n",
        )

    def _submit_and_wait(self, trial: Trial, tasks: Sequence[str]) -> None:
        specs = [self._write_spec(trial, task) for task in tasks]
        # Orders carry the time of submission, so nothing slow comes after them.
        folders = [self._order(trial, spec, worker) for worker, spec in enumerate(specs)]
        jobs = self._executor.submit(folders)
        self._journal.append(
            "submitted", trial.id, tuple(job.id for job in jobs), detail=", ".join(tasks)
        )
        wait_for(dict(zip(folders, jobs, strict=True)))

    def _write_spec(self, trial: Trial, task: str) -> tuple[Path, TaskSpec]:
        """Write what a task has to do; return its folder and the spec."""
        folder = self._run.task(trial, task)
        folder.mkdir(parents=True)
        spec = self._spec(trial, task)
        write_atomically(folder / SPEC_FILE, spec.model_dump_json(indent=1) + "\n")
        write_atomically(folder / PARAMS_FILE, json.dumps(spec.params, indent=1) + "\n")
        return folder, spec

    def _order(self, trial: Trial, specified: tuple[Path, TaskSpec], worker: int) -> Path:
        """Write how a task is started; return its folder."""
        folder, spec = specified
        place = self._placement.of(worker, trial.workers, spec.device)
        start = self._runtime.start(spec, folder, trial.image)
        order = TaskOrder(
            token=token_hex(8),
            submit_utc=datetime.now(UTC),
            argv=start.argv,
            env=place.env | start.env,
            container=start.container,
            cpus=place.cpus,
            oversubscribed=place.shared,
        )
        write_atomically(folder / ORDER_FILE, order.model_dump_json(indent=1) + "\n")
        return folder

    def _spec(self, trial: Trial, task: str) -> TaskSpec:
        folder = self._run.task(trial, task)
        common = TaskSpec(
            stage=trial.stage,
            inputs=(),
            params=trial.params,
            seed=self._settings["seed"],
            threads=self._settings["cpus_per_worker"],
            device=trial.device,
        )
        if task == "merge":
            windows = tuple((w, self._run.task(trial, w) / "out") for w in trial.window_tasks)
            return common.model_copy(
                update={"verb": "merge", "inputs": windows, "output": folder / "out"}
            )
        if task == "check":
            reference = self._run.plan.trial(trial.reference_trial)
            compared = (
                ("reference", self._run.output(reference)),
                ("other", self._run.output(trial)),
            )
            return common.model_copy(
                update={"verb": "check", "inputs": compared, "truth": trial.truth}
            )
        return common.model_copy(
            update={
                "inputs": self._inputs(trial),
                "output": folder / "out",
                "frames": trial.windows[int(task.removeprefix("w"))],
                # What a stage wrote names its own axes.
                "axes": self._run.plan.axes if trial.reads_movie else None,
            }
        )

    def _inputs(self, trial: Trial) -> tuple[tuple[str, Path], ...]:
        resolved = []
        for item in trial.inputs:
            if item.path is not None:
                resolved.append((item.slot, item.path))
            elif item.from_trial and item.file:
                source = self._run.plan.trial(item.from_trial)
                resolved.append((item.slot, self._run.output(source) / item.file))
        return tuple(resolved)

    def _missing_input(self, trial: Trial) -> str | None:
        needed = {item.from_trial: "its input" for item in trial.inputs if item.from_trial}
        if not trial.is_reference:
            needed[trial.reference_trial] = "what it is compared with"
        for trial_id, why in needed.items():
            if not self._has_output(self._run.plan.trial(trial_id)):
                return f"{why}, the output of {trial_id}, is not there"
        return None

    def _has_output(self, trial: Trial) -> bool:
        """Whether a trial's output is whole; its check may have failed all the same."""
        timed = [task for task in trial.tasks if task != "check"]
        if trial.id not in self._whole and all(
            read_task(self._run.task(trial, task)).state == "done" for task in timed
        ):
            self._whole.add(trial.id)
        return trial.id in self._whole

    def _drop_outputs(self, trial: Trial) -> None:
        if self._settings["keep_outputs"] == "reference" and not trial.is_reference:
            self._run.drop_outputs(trial)

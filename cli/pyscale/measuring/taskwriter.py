"""Writes what each task of a trial has to do, and how it is started."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyscale.planning.plan import Trial
from pyscale.planning.traits import meets
from pyscale.runtimes.frozen import NativeRuntime, Runtime
from pyscale.store import records
from pyscale.store.folder import RunFolder
from pyscale.store.taskfiles import read_task, write_order
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Counters, TaskSpec
from pyscale_stages.registry import load_stage


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

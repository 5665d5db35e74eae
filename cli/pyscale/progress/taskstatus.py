"""State of each task of a trial, from as few files as possible."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import Field

from pyscale.planning.plan import Trial
from pyscale.store.folder import RunFolder
from pyscale.store.records import (
    EXIT_FILE,
    LAUNCH_FILE,
    ORDER_FILE,
    RESULT_FILE,
    ExitRecord,
    LaunchRecord,
    TaskOrder,
)
from pyscale.store.taskfiles import RecordError, read_record, read_task
from pyscale_stages.contract import Record

TrialState = Literal["planned", "under way", "done", "failed", "skipped"]
TaskState = Literal["waiting", "queued", "running", "gone", "done", "failed"]
"""Waiting: not ordered yet. Queued: ordered, and its process is not there yet. Gone: nobody works
the run off any more, and the task left no word of how it ended."""
SHOWN_FIRST: tuple[TaskState, ...] = ("failed", "gone", "running", "queued", "done", "waiting")


class TaskStatus(Record):
    """What one task does."""

    task: str
    state: TaskState
    node: str | None = None
    elapsed_s: float | None = Field(None, description="How long its process runs, or ran")
    why: str = Field("", description="Why it is gone or has failed, in plain words")


class TrialStatus(Record):
    """How many tasks of a trial are in each state, and some or all of the tasks."""

    counts: dict[TaskState, int]
    tasks: tuple[TaskStatus, ...] = Field(description="Those that matter most, first")
    trial: str
    state: TrialState


@dataclass(frozen=True)
class _Glance:
    """What the names of a task's files, and the record of its end, tell."""

    recorded: TaskState
    written_s: float = 0.0
    ended: ExitRecord | None = None


class TaskReader:
    """Reads the tasks of a run's trials again and again, those that have ended only once."""

    def __init__(self, run: RunFolder, most: int | None) -> None:
        self._run = run
        self._most = most
        # A folder that is set aside lives on, so that the one in its place has another inode.
        self._ended: dict[tuple[str, int], _Glance] = {}

    def read(self, trial: Trial, state: TrialState, *, worked_off: bool) -> TrialStatus:
        """Tell what a trial's tasks do; `worked_off`: a program or a job may still end them."""
        folder = self._run.trial(trial)
        glances = self._glances(folder, trial.tasks)
        states = {task: one.recorded for task, one in glances.items()}
        if not worked_off:
            lost = [task for task, state in states.items() if state in {"queued", "running"}]
            states |= dict.fromkeys(lost, "gone")
        told = list(glances)
        if self._most is not None:
            told.sort(key=lambda t: (SHOWN_FIRST.index(states[t]), glances[t].written_s))
            told = told[: self._most]
        counts = Counter(states.values())
        return TrialStatus(
            trial=trial.id,
            state=state,
            counts={which: counts[which] for which in SHOWN_FIRST if counts[which]},
            tasks=tuple(_status(folder / t, states[t], glances[t].ended) for t in told),
        )

    def _glances(self, folder: Path, tasks: tuple[str, ...]) -> dict[str, _Glance]:
        try:
            with os.scandir(folder) as entries:
                inodes = {entry.name: entry.inode() for entry in entries}
        except FileNotFoundError:
            return dict.fromkeys(tasks, _Glance("waiting"))
        set_aside = {name.partition(".")[0] for name in inodes if "." in name}
        tried_before = any(folder.parent.glob(f"{folder.name}.*"))
        return {
            task: self._glance(
                f"{folder}/{task}",
                inodes.get(task),
                tried_before=tried_before or task in set_aside,
            )
            for task in tasks
        }

    def _glance(self, folder: str, inode: int | None, *, tried_before: bool) -> _Glance:
        if inode is None:
            return _Glance("waiting")
        known = self._ended.get((folder, inode))
        if known is not None:
            return known
        glance = _look_at(folder, tried_before=tried_before)
        if glance.ended is not None:
            self._ended[folder, inode] = glance
        return glance


def _look_at(folder: str, *, tried_before: bool) -> _Glance:
    try:
        with os.scandir(folder) as entries:
            files = {entry.name: entry for entry in entries}
        if ORDER_FILE not in files:
            return _Glance("waiting")
        if EXIT_FILE in files:
            ended = read_record(ExitRecord, Path(files[EXIT_FILE].path))
            if ended is not None and not (tried_before and _is_for_another(ended.token, folder)):
                # A process that ends with 0 writes its result last, and only where it is done.
                done = ended.returncode == 0 and RESULT_FILE in files
                return _Glance("done" if done else "failed", ended.end_utc.timestamp(), ended)
        launch = read_record(LaunchRecord, Path(folder) / LAUNCH_FILE)
        if launch is not None and not _is_for_another(launch.token, folder):
            return _Glance("running", launch.spawn_utc.timestamp())
        return _Glance("queued", files[ORDER_FILE].stat().st_mtime)
    except FileNotFoundError:
        # It is being set aside at this moment, to be ordered again.
        return _Glance("waiting")
    except NotADirectoryError as error:
        raise RecordError(Path(folder), str(error.strerror)) from error


def _is_for_another(token: str, folder: str) -> bool:
    """Whether a launcher of an earlier order of this folder wrote a record, as it outlived it."""
    order = read_record(TaskOrder, Path(folder) / ORDER_FILE)
    return order is None or order.token != token


def _status(folder: Path, state: TaskState, ended: ExitRecord | None) -> TaskStatus:
    """Tell all that is known of one task."""
    if state in {"waiting", "queued"}:
        return TaskStatus(task=folder.name, state=state)
    launch = read_record(LaunchRecord, folder / LAUNCH_FILE)
    why = "it ended without a word; resume the run to start it again" if state == "gone" else ""
    if state == "failed":
        error = read_task(folder).error
        why = error.message if error else ""
    return TaskStatus(
        task=folder.name,
        state=state,
        node=launch.node if launch else None,
        elapsed_s=_elapsed_s(launch, state, ended) if launch else None,
        why=why,
    )


def _elapsed_s(launch: LaunchRecord, state: TaskState, ended: ExitRecord | None) -> float | None:
    """How long a task's process runs by this machine's clock, or ran by its node's."""
    if state == "running":
        return max(0.0, (datetime.now(UTC) - launch.spawn_utc).total_seconds())
    if ended is not None and ended.returncode is not None:
        return max(0.0, (ended.end_utc - launch.spawn_utc).total_seconds())
    return None

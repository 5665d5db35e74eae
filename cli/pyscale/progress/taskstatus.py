"""State of each task of a trial, from as few files as possible."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import Field

from pyscale.planning.plan import Trial
from pyscale.progress.runqueue import Place, Queue, TaskState, place_of
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
from pyscale.store.taskfiles import RecordError, read_jobs, read_record, read_task
from pyscale_stages.contract import Record

TrialState = Literal["planned", "under way", "done", "failed", "skipped"]
SHOWN_FIRST: tuple[TaskState, ...] = (
    "failed",
    "gone",
    "running",
    "starting",
    "queued",
    "done",
    "waiting",
)


class TaskStatus(Record):
    """What one task does."""

    task: str
    state: TaskState
    job_id: str | None = None
    node: str | None = None
    elapsed_s: float | None = Field(None, description="How long its process runs, or ran")
    why: str = Field("", description="Why it waits or has failed, in plain words")


class TrialStatus(Record):
    """How many tasks of a trial are in each state, and some or all of the tasks."""

    counts: dict[TaskState, int]
    waits: dict[str, int] = Field(description="Why tasks are queued -> how many")
    tasks: tuple[TaskStatus, ...] = Field(description="Those that matter most, first")
    trial: str
    state: TrialState


@dataclass(frozen=True)
class _Glance:
    """What the names of a task's files, and the record of its end, tell."""

    recorded: str
    written_s: float = 0.0
    ended: ExitRecord | None = None


class TaskReader:
    """Reads the tasks of a run's trials again and again, those that have ended only once."""

    def __init__(self, run: RunFolder, most: int | None) -> None:
        self._run = run
        self._most = most
        # A folder that is set aside lives on, so that the one in its place has another inode.
        self._ended: dict[tuple[str, int], _Glance] = {}

    def read(
        self, trial: Trial, state: TrialState, queue: Queue | None, *, attended: bool
    ) -> TrialStatus:
        """Tell what a trial's tasks do; `attended`: a living pyscale waits for them."""
        folder = self._run.trial(trial)
        jobs = read_jobs(folder)
        glances = self._glances(folder, trial.tasks)
        places = {
            task: place_of(
                glance.recorded,
                glance.written_s,
                job_id=jobs.get(task),
                queue=queue,
                attended=attended,
            )
            for task, glance in glances.items()
        }
        told = list(glances)
        if self._most is not None:
            told.sort(key=lambda t: (SHOWN_FIRST.index(places[t].state), glances[t].written_s))
            told = told[: self._most]
        counts = Counter(place.state for place in places.values())
        if queue is not None and not attended:
            gone = {t: jobs[t] for t in told if places[t].state == "gone" and t in jobs}
            causes = queue.why_gone(set(gone.values()))
            places |= {t: replace(places[t], why=causes[job]) for t, job in gone.items()}
        return TrialStatus(
            trial=trial.id,
            state=state,
            counts={which: counts[which] for which in SHOWN_FIRST if counts[which]},
            waits=dict(Counter(p.why for p in places.values() if p.state == "queued" and p.why)),
            tasks=tuple(
                _status(folder / task, places[task], glances[task].ended, jobs.get(task))
                for task in told
            ),
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
            if ended is not None and not (tried_before and _ended_for_another(ended, folder)):
                # A process that ends with 0 writes its result last, and only where it is done.
                done = ended.returncode == 0 and RESULT_FILE in files
                return _Glance("done" if done else "failed", ended.end_utc.timestamp(), ended)
        begun = LAUNCH_FILE in files and not _launched_for_another(folder)
        recorded, latest = ("launched", LAUNCH_FILE) if begun else ("ordered", ORDER_FILE)
        return _Glance(recorded, files[latest].stat().st_mtime)
    except FileNotFoundError:
        # It is being set aside at this moment, to be ordered again.
        return _Glance("waiting")
    except NotADirectoryError as error:
        raise RecordError(Path(folder), str(error.strerror)) from error


def _launched_for_another(folder: str) -> bool:
    """Whether the launcher that began did so for an earlier order of this folder."""
    order = read_record(TaskOrder, Path(folder) / ORDER_FILE)
    launch = read_record(LaunchRecord, Path(folder) / LAUNCH_FILE)
    return order is not None and launch is not None and launch.token != order.token


def _ended_for_another(ended: ExitRecord, folder: str) -> bool:
    """Whether a launcher of an earlier try outlived it and wrote into the folder of this one."""
    order = read_record(TaskOrder, Path(folder) / ORDER_FILE)
    return order is None or order.token != ended.token


def _status(folder: Path, place: Place, ended: ExitRecord | None, job_id: str | None) -> TaskStatus:
    """Tell all that is known of one task."""
    status = TaskStatus(
        task=folder.name, state=place.state, job_id=job_id, node=place.node, why=place.why
    )
    if place.state not in {"running", "gone", "done", "failed"}:
        return status
    launch = read_record(LaunchRecord, folder / LAUNCH_FILE)
    known: dict[str, object] = {}
    if launch is not None:
        known["node"] = launch.node
        known["elapsed_s"] = _elapsed_s(launch, place.state, ended)
    if place.state == "failed":
        error = read_task(folder).error
        known["why"] = error.message if error else ""
    return status.model_copy(update=known)


def _elapsed_s(launch: LaunchRecord, state: TaskState, ended: ExitRecord | None) -> float | None:
    """How long a task's process runs by this machine's clock, or ran by its node's."""
    if state == "running":
        return max(0.0, (datetime.now(UTC) - launch.spawn_utc).total_seconds())
    if ended is not None and ended.returncode is not None:
        return max(0.0, (ended.end_utc - launch.spawn_utc).total_seconds())
    return None

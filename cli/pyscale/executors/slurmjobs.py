"""Live jobs of a run, by few questions to Slurm, and causes of those that left no record."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from pyscale.slurm.accounts import JobEnd, ends_of
from pyscale.slurm.endings import cause_of, ended_by_slurm
from pyscale.slurm.queue import QueuedJob, SlurmSilent, job_of, jobs_named
from pyscale.store.journal import EventKind
from pyscale.store.taskfiles import read_task
from pyscale_stages.contract import TaskError

POLL_S = 2.0
"""Between questions while tasks run: their records tell sooner, so the controller is spared."""
GRACE_S = 5.0
"""How long a record may be on its way after its job has ended, on a filesystem that nodes share."""


class JobBook:
    """What Slurm last said of the jobs of one name, which all jobs of the run have.

    `tell` hears of an event's kind and detail when Slurm falls silent and when it answers again.
    """

    def __init__(self, name: str, tell: Callable[[EventKind, str], object]) -> None:
        self._name = name
        self._tell = tell
        self._jobs: dict[str, QueuedJob] = {}
        # Long enough ago for the first look to ask.
        self._asked_s = -POLL_S
        self._silent = False
        # Rises with each answer; while Slurm is silent it stays.
        self.answers = 0
        self._ends: dict[str, JobEnd] = {}
        self._ends_at = -1

    def look(self) -> dict[str, QueuedJob]:
        """Jobs as Slurm last told them, asked anew where that was a while ago."""
        if time.monotonic() - self._asked_s >= POLL_S:
            self.refresh()
        return self._jobs

    def refresh(self) -> bool:
        """Ask now; return whether Slurm answers."""
        try:
            self._jobs = jobs_named(self._name)
        except SlurmSilent as silent:
            if not self._silent:
                self._tell("slurm_silent", str(silent))
            self._silent = True
        else:
            if self._silent:
                self._tell("slurm_answers", "")
            self._silent = False
            self.answers += 1
        self._asked_s = time.monotonic()
        return not self._silent

    def ask(self) -> dict[str, QueuedJob]:
        """Jobs as Slurm tells them now, however long it takes to answer."""
        while not self.refresh():
            # Nothing tells when a controller is back.
            threading.Event().wait(POLL_S)
        return self._jobs

    def cause(self, job_id: str, folder: Path) -> TaskError:
        """Why a task's job left no record: the queue remembers a while, accounts for long."""
        return cause_of(job_id, *self._seen(job_id, folder))

    def ended_by_slurm(self, job_id: str, folder: Path) -> TaskError | None:
        """Why Slurm ended a task's job; None where it did not."""
        return ended_by_slurm(job_id, *self._seen(job_id, folder))

    def _seen(self, job_id: str, folder: Path) -> tuple[QueuedJob | None, JobEnd | None, str]:
        """What the queue and the accounts say of a job, and the node where its task began."""
        job = job_of(self.look(), job_id)
        if self._ends_at != self.answers:
            # Accounts are asked once for all jobs of the run, however many were lost together.
            self._ends = ends_of({job_id, *self._jobs})
            self._ends_at = self.answers
        # Slurm does not tell it of a job that has several nodes.
        launch = read_task(folder).launch
        return job, self._ends.get(job_id), launch.node if launch is not None else ""


class SlurmJob:
    """The job of one task."""

    def __init__(self, job_id: str, book: JobBook) -> None:
        self._id = job_id
        self._book = book
        self._gone_s: float | None = None
        self._gone_at = 0

    def is_alive(self, folder: Path) -> bool:
        """Whether the job may still leave a record."""
        # It has gone when two answers of Slurm say so and its record had time to arrive.
        job = job_of(self._book.look(), self._id)
        if self._book.answers == 0 or (job is not None and job.alive):
            self._gone_s = None
            return True
        if self._gone_s is None:
            self._gone_s, self._gone_at = time.monotonic(), self._book.answers
        if self._book.answers == self._gone_at or time.monotonic() - self._gone_s < GRACE_S:
            return True
        # Listing a folder makes a network filesystem look again for files that were not there.
        next(folder.iterdir(), None)
        return False

    def why_gone(self, folder: Path) -> TaskError:
        """Why it ended without a record."""
        return self._book.cause(self._id, folder)

"""Live jobs of a run, by few questions to Slurm."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from pyscale.errors import UserError
from pyscale.slurm.queue import QueuedJob, SlurmSilent, cancel, job_name, jobs_named
from pyscale.store.folder import RunFolder
from pyscale.store.journal import EventKind

TO_END_S = 120.0
"""How long jobs may take to end: Slurm itself gives them 30 s between asking and killing."""
LOOK_S = 0.5
"""Between looks whether jobs that were cancelled have ended."""
Tell = Callable[[EventKind, str], object]


class JobBook:
    """What Slurm last said of the jobs of one name, which all jobs of the run have.

    It is asked at most every `poll_s` seconds. `tell` hears of an event's kind and detail when
    Slurm falls silent and when it answers again.
    """

    def __init__(self, name: str, poll_s: float, tell: Tell) -> None:
        self._name = name
        self._poll_s = poll_s
        self._tell = tell
        self._jobs: dict[str, QueuedJob] = {}
        # Long enough ago for the first look to ask.
        self._asked_s = -poll_s
        self._silent = False
        # Rises with each answer; while Slurm is silent it stays.
        self.answers = 0

    def look(self) -> dict[str, QueuedJob]:
        """Jobs as Slurm last told them, asked anew where that was a while ago."""
        if time.monotonic() - self._asked_s >= self._poll_s:
            self.refresh()
        return self._jobs

    def living(self) -> set[str]:
        """Ids of those that have not ended, as Slurm last told."""
        return {job_id for job_id, job in self._jobs.items() if job.alive}

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
            threading.Event().wait(self._poll_s)
        return self._jobs


def end_jobs(run: RunFolder, tell: Tell) -> int:
    """Cancel every job of a run and return when Slurm has ended them; say how many there were."""
    name = job_name(run.plan.run_id)
    assert run.plan.site is not None, "only a cluster has jobs"
    book = JobBook(name, run.plan.site.poll_s, tell)
    try:
        # Not by the book, which waits for an answer however long that takes.
        living = {job_id for job_id, job in jobs_named(name).items() if job.alive}
        if living:
            cancel(living)
    except SlurmSilent as silent:
        raise _may_still_run(run, str(silent)) from silent
    deadline = time.monotonic() + TO_END_S
    while living and not (book.refresh() and living.isdisjoint(book.living())):
        if time.monotonic() > deadline:
            raise _may_still_run(run, f"they had not ended after {TO_END_S:g} s")
        # Nothing tells when a job has ended that leaves no record.
        threading.Event().wait(LOOK_S)
    return len(living)


def _may_still_run(run: RunFolder, why: str) -> UserError:
    return UserError(
        f"jobs of this run may still run ({why}): see `squeue --name={job_name(run.plan.run_id)}`, "
        f"and run `pyscale cancel {run.path.name}` again later"
    )

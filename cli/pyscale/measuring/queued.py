"""A run that one job of a site's own scheduler works off, followed from where it was submitted."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

from pyscale.errors import UserError, last_line
from pyscale.interruption import ENDING, blocked
from pyscale.measuring.here import LOG_FILE, Here
from pyscale.sbatch.held import held_by, limit_of
from pyscale.sbatch.queued import cancel_job, is_alive, script_of_job, submit_job
from pyscale.store.allocations import Allocated, Allocations, read_allocations, write_allocations
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Listener
from pyscale.store.lock import is_locked, writing
from pyscale_stages.atomic import write_atomically

SCRIPT_FILE = "job.sh"
LOOK_S = 1.0
"""Between looks whether a job that was cancelled has ended."""
TO_END_S = 120.0
"""How long a job may take to end once that was asked for."""


class Queued(Here):
    """Submits the job that works a run off, and follows it."""

    def __init__(self, run: RunFolder, listener: Listener) -> None:
        super().__init__(run, listener)
        assert run.plan.queue is not None, "it is worked off here"
        self._site = run.plan.queue
        # Long enough ago for the first look to ask.
        self._asked_s = -self._site.poll_s
        self._alive = False

    def begin(self) -> None:
        """Submit a job, unless one waits or runs."""
        if self._is_at_work():
            return
        run = self._run
        with writing(run.path):
            held = held_by(run.plan, self._site, run.plan.trials)
            script = run.path / SCRIPT_FILE
            write_atomically(
                script, script_of_job(run.plan, self._site, run.path, run.path / LOG_FILE)
            )
            # A Ctrl-C between a submission and its record would leave a job unknown.
            with blocked(*ENDING):
                job_id = submit_job(self._site, script)
                known = read_allocations(run.path).jobs
                job = Allocated(
                    job_id=job_id,
                    nodes="1",
                    cores=held.cores,
                    time_limit_min=limit_of(held, self._site),
                    submit_utc=datetime.now(UTC),
                    entries=tuple(run.plan.suite.stages),
                )
                write_allocations(run.path, Allocations(jobs=(*known, job)))
            detail = f"{held.cores} cores on 1 node for up to {job.time_limit_min} min"
            self._journal.append("allocation_submitted", job_ids=(job_id,), detail=detail)
        self._asked_s = -self._site.poll_s

    def cancel(self) -> int:
        """End the job of the run; return how many there were."""
        if not self._is_at_work():
            return 0
        cancel_job(self._site, self._job_id())
        deadline = time.monotonic() + TO_END_S
        while self._is_at_work():
            if time.monotonic() > deadline:
                raise UserError(
                    f"the job {self._job_id()} has not ended after {TO_END_S:g} s: run `pyscale "
                    f"cancel {self._run.path.name}` again later"
                )
            threading.Event().wait(LOOK_S)
        return 1

    def what_goes_on(self) -> str:
        """What is left at work after an interruption, and how to go on."""
        name = self._run.path.name
        return (
            f"no longer followed; job {self._job_id()} goes on. Follow it with: pyscale resume "
            f"{name}, or end it with: pyscale cancel {name}"
        )

    def _is_at_work(self) -> bool:
        """Whether the last job waits or runs, or holds the run."""
        if is_locked(self._run.path):
            return True
        job_id = self._job_id()
        if time.monotonic() - self._asked_s >= self._site.poll_s:
            self._alive = job_id != "" and is_alive(self._site, job_id)
            self._asked_s = time.monotonic()
        return self._alive

    def _job_id(self) -> str:
        """The last job that was submitted; empty before there was one."""
        return next(reversed(read_allocations(self._run.path).job_ids), "")

    def _refuse_silent_end(self) -> None:
        if self._end is None:
            said = last_line(self._run.path / LOG_FILE).removeprefix("error: ") or "without a word"
            name = self._run.path.name
            raise UserError(
                f"job {self._job_id()} has ended ({said}), as by its time limit of "
                f"hold_limit_hours: go on with `pyscale resume {name}`"
            )

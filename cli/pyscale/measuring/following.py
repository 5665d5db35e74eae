"""A run that one program works off, and is followed from here.

That program has a session of its own on this machine, or is a job of a site's own scheduler;
`holding` follows the jobs of Slurm.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from pyscale.errors import UserError, last_line
from pyscale.evaluation.results import results_of
from pyscale.interruption import (
    ENDING,
    TerminalClosedError,
    blocked,
    ignored,
    termination_as_interrupt,
)
from pyscale.measuring.benchmark import Incomplete
from pyscale.measuring.trialrecords import is_complete
from pyscale.report.results import Results
from pyscale.sbatch.held import cancel_job, held_by, is_alive, limit_of, script_of_job, submit_job
from pyscale.store.allocations import Allocated, Allocations, read_allocations, write_allocations
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Event, EventKind, Journal, Listener
from pyscale.store.lock import is_locked, lock_holder, writing
from pyscale_stages.atomic import write_atomically
from pyscale_stages.errors import EXIT_RESOURCE_EXHAUSTED, ResourceExhausted

LOG_FILE = "orchestrator.log"
PERIOD_S = 0.1
"""Between looks at the journal, which the program writes."""
ENDS: set[EventKind] = {"run_finished", "run_stopped", "run_interrupted", "run_cancelled"}


class Follower:
    """Tells of a run as it comes, wherever it is worked off."""

    def __init__(self, run: RunFolder, listener: Listener) -> None:
        self._run = run
        self._listener = listener
        self._journal = Journal(run.journal_file)
        # The listener is told only of what follows: it was given what stands there.
        self._read_to = self._journal.read_from(0)[1]

    def what_goes_on(self) -> str:
        """What is left at work after an interruption, and how to go on."""
        name = self._run.path.name
        if what := self._at_work():
            return (
                f"no longer followed; {what} goes on. Follow it with: pyscale resume {name}, or "
                f"end it with: pyscale cancel {name}"
            )
        return f"interrupted; nothing is lost. Finish with: pyscale resume {name}"

    def _at_work(self) -> str:
        """What works the run off now, in words; empty where nothing does."""
        raise NotImplementedError

    def _hear(self) -> Sequence[Event]:
        events, self._read_to = self._journal.read_from(self._read_to)
        for event in events:
            self._listener(event)
        return events

    def _record(self, job: Allocated) -> None:
        """Record a job that was submitted; a Ctrl-C before would leave it unknown."""
        known = read_allocations(self._run.path).jobs
        write_allocations(self._run.path, Allocations(jobs=(*known, job)))
        nodes = "1 node" if job.nodes == "1" else f"{job.nodes} nodes"
        detail = f"{job.cores} cores on {nodes} for up to {job.time_limit_min} min"
        self._journal.append("allocation_submitted", job_ids=(job.job_id,), detail=detail)

    def _incomplete(self) -> Incomplete:
        """Trials that are not complete at the end."""
        # Another pyscale may have extended the plan meanwhile.
        self._run = RunFolder(self._run.path)
        left = (trial for trial in self._run.plan.trials if not is_complete(self._run, trial))
        return tuple(trial.id for trial in left)


class Here(Follower):
    """Starts the program that works off a run of this machine, and follows it."""

    def __init__(self, run: RunFolder, listener: Listener) -> None:
        super().__init__(run, listener)
        self._program: subprocess.Popen[bytes] | None = None
        self._end: EventKind | None = None
        self._why = ""

    def begin(self) -> None:
        """Start the program, unless one works the run off already; return once it has the run."""
        if is_locked(self._run.path):
            return
        # A Ctrl-C just after its start would leave it unknown. It lets itself hear these again.
        with blocked(*ENDING):
            self._program = started(self._run.path)
        while self._program.poll() is None:
            holder = lock_holder(self._run.path)
            if holder is not None and holder.pid == self._program.pid:
                return
            threading.Event().wait(PERIOD_S)
        self._hear()
        self._refuse_silent_end()

    def finish(self) -> tuple[Incomplete, Results]:
        """Follow the program until the last trial has ended; its report may still be written."""
        with termination_as_interrupt():
            try:
                while self._end is None:
                    self.begin()
                    self._follow()
            except TerminalClosedError:
                raise
            except KeyboardInterrupt:
                self._stop()
                raise
        if self._end == "run_stopped":
            raise UserError(self._why)
        if self._end != "run_finished":
            raise KeyboardInterrupt
        return self._incomplete(), results_of(self._run)

    def wait_for_report(self) -> None:
        """Return when the report is written."""
        while self._is_at_work():
            threading.Event().wait(PERIOD_S)
        if self._program is not None and self._program.returncode:
            raise self._silent_end(self._program.returncode)

    def _at_work(self) -> str:
        return "the run" if self._is_at_work() else ""

    def _follow(self) -> None:
        while self._is_at_work():
            self._hear()
            if self._end is not None:
                return
            threading.Event().wait(PERIOD_S)
        self._hear()
        self._refuse_silent_end()

    def _is_at_work(self) -> bool:
        """Whether a program works the run off: the own one, or that which was there before."""
        if self._program is not None:
            return self._program.poll() is None
        return is_locked(self._run.path)

    def _hear(self) -> Sequence[Event]:
        events = super()._hear()
        for event in events:
            if event.kind in ENDS:
                self._end, self._why = event.kind, event.detail
        return events

    def _stop(self) -> None:
        """End what was started here; what another pyscale started goes on."""
        if self._program is not None:
            self._program.terminate()
            self._program.wait()
            self._hear()

    def _refuse_silent_end(self) -> None:
        """Raise where the own program has ended and nothing in the journal says why."""
        if self._end is None and self._program is not None:
            raise self._silent_end(self._program.returncode)

    def _silent_end(self, code: int) -> Exception:
        log = self._run.path / LOG_FILE
        said = last_line(log).removeprefix("error: ")
        if code == EXIT_RESOURCE_EXHAUSTED and not said:
            # Of all that runs out, a disk alone also keeps the word of it.
            return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._run.path))
        if code == EXIT_RESOURCE_EXHAUSTED:
            return ResourceExhausted(said)
        return UserError(
            said
            or f"the program that works off {self._run.path.name} ended without a word: go "
            f"on with `pyscale resume {self._run.path.name}`"
        )


def started(run: Path) -> subprocess.Popen[bytes]:
    """Start the program that works a run off; nothing ends it with the terminal."""
    with (run / LOG_FILE).open("wb") as log, ignored(signal.SIGHUP):
        return subprocess.Popen(
            [sys.executable, "-m", "pyscale", "work", str(run)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


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
            with blocked(*ENDING):
                self._record(
                    Allocated(
                        job_id=submit_job(self._site, script),
                        nodes="1",
                        cores=held.cores,
                        time_limit_min=limit_of(held, self._site),
                        submit_utc=datetime.now(UTC),
                        entries=tuple(run.plan.suite.stages),
                    )
                )
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

    def _at_work(self) -> str:
        return f"job {self._job_id()}"

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

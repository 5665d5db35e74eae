"""Jobs that hold nodes for a run's trials, followed from the login node, and the program in them.

That program, `work`, also works a run off on this machine.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from pyscale.errors import UserError
from pyscale.evaluation.cost import time_of
from pyscale.evaluation.results import report_run
from pyscale.executors.local import LocalExecutor
from pyscale.executors.protocol import Executor
from pyscale.executors.submission import JobBook, living_of, of_sbatch, setup_lines, submit
from pyscale.interruption import ENDING, blocked, termination_as_interrupt
from pyscale.measuring.benchmark import Incomplete, benchmark
from pyscale.measuring.following import Follower
from pyscale.measuring.pilot import go_on, pilot, trials_left
from pyscale.planning.placement import local_placement
from pyscale.planning.plan import Plan
from pyscale.planning.sites import Site
from pyscale.processes import user_name
from pyscale.progress.course import Course
from pyscale.report.results import Results
from pyscale.sbatch.held import HeldJob, held_trials
from pyscale.slurm.commands import persist
from pyscale.slurm.queue import SlurmSilent, cancel, ends_of, job_name
from pyscale.store.allocations import (
    Allocated,
    following,
    is_cancelled,
    is_followed,
    read_allocations,
    set_cancelled,
)
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Event, EventKind, Listener
from pyscale.store.lock import writing
from pyscale_stages.measure.nodename import host_name

PERIOD_S = 0.5
"""Between looks at the journal, which another node writes."""
PATIENCE_S = 60.0
"""How long to wait for the run's lock where a pilot has just ended or another pyscale submits."""
ENDS = {
    "BOOT_FAIL": "lost its node, which did not boot",
    "CANCELLED": "was cancelled",
    "COMPLETED": "ended before all trials had",
    "DEADLINE": "reached its deadline",
    "FAILED": "failed",
    "NODE_FAIL": "lost a node",
    "OUT_OF_MEMORY": "ran out of memory",
    "PREEMPTED": "was preempted",
    "TIMEOUT": "reached its time limit",
}
"""Ends of an allocation, by Slurm's word."""


class Holder(Follower):
    """Brings the trials of a run to their end in allocations, from whatever state they are in."""

    def __init__(self, run: RunFolder, listener: Listener) -> None:
        assert run.plan.site is not None, "only a cluster has allocations"
        super().__init__(run, listener)
        self._site: Site = run.plan.site
        self._book = JobBook(job_name(run.plan.run_id), self._site.poll_s, self._say)

    def begin(self) -> None:
        """Submit an allocation, unless one lives."""
        with termination_as_interrupt():
            if self._living():
                return
            with writing(self._run.path, PATIENCE_S):
                # Another pyscale may have submitted one before this one had the lock.
                if self._living(now=True):
                    return
                self._end_strays()
                self._explain()
                set_cancelled(self._run.path, cancelled=False)
                course = Course(self._journal.read())
                # As if it were started already, so that trials that failed before are left too.
                course.hear(Event(time_utc=datetime.now(UTC), kind="run_started"))
                if not trials_left(self._run, course):
                    # A pilot has finished while nobody followed: the report alone is missing.
                    return
                self._append("run_started", detail=f"process {os.getpid()} on {host_name()}")
                self._submit()

    def go_on(self) -> None:
        """Do what follows a job, in it, where nobody follows the run: the next one, or the report.

        Where a node may not submit, the error ends the job, and `status` says how to go on.
        """
        with writing(self._run.path, PATIENCE_S):
            self._run = RunFolder(self._run.path)
            course = Course(self._journal.read())
            if course.stopped is not None or is_cancelled(self._run.path):
                return
            if not trials_left(self._run, course):
                report_run(self._run)
            elif not self._living(now=True) - {os.environ["SLURM_JOB_ID"]}:
                self._submit()

    def finish(self) -> tuple[Incomplete, Results]:
        """Follow the allocations, submit the next where one is needed, and write the report."""
        with termination_as_interrupt(), following(self._run.path):
            self.begin()
            while True:
                self._follow()
                with writing(self._run.path, PATIENCE_S):
                    if self._living(now=True):
                        # Another pyscale was faster.
                        continue
                    # Another pyscale may have extended the plan meanwhile.
                    self._run = RunFolder(self._run.path)
                    if self._is_over():
                        if self._journal.read()[-1].kind != "run_finished":
                            self._append("run_finished")
                        return self._incomplete(), report_run(self._run)
                    self._end_strays()
                    self._submit()

    def wait_for_report(self) -> None:
        """It is written before `finish` returns."""

    def _at_work(self) -> str:
        living = Course(self._journal.read()).allocations
        return f"job {min(living)}" if living else ""

    def _is_over(self) -> bool:
        """Whether nothing is left; where that is not by success, raise the reason."""
        course = Course(self._journal.read())
        if is_cancelled(self._run.path):
            raise UserError(
                f"the run {self._run.path.name} was cancelled: finish it with `pyscale "
                f"resume {self._run.path.name}`"
            )
        if not trials_left(self._run, course):
            return True
        if course.stopped is not None:
            raise UserError(course.stopped)
        if course.why_stop is not None:
            self._append("run_stopped", detail=course.why_stop)
            raise UserError(course.why_stop)
        return False

    def _follow(self) -> None:
        """Tell what happens until every allocation has ended, and record why."""
        # Another pyscale may have submitted one that Slurm was not asked of yet.
        while self._living() or self._living(now=True):
            self._hear()
            threading.Event().wait(PERIOD_S)
        self._hear()
        with writing(self._run.path, PATIENCE_S):
            if not self._living(now=True):
                self._explain()

    def _explain(self) -> None:
        """Record why allocations have ended that did not say so themselves."""
        course = Course(self._journal.read())
        untold = course.allocations
        if not untold or not trials_left(self._run, course):
            return
        ends, cancelled = ends_of(untold), []
        for job_id in sorted(untold):
            known, end = self._book.look().get(job_id), ends.get(job_id)
            state = end.state if end else known.state if known else ""
            node = (end.node if end else "") or (known.node if known else "")
            how = f"job {job_id} {ENDS.get(state, 'ended, and Slurm does not say why')}"
            if end is not None and end.cancelled_by is not None:
                how += f" by {user_name(end.cancelled_by)}"
            where = f" on {node}" if node else ""
            self._append("allocation_ended", job_ids=(job_id,), detail=how + where)
            if state == "CANCELLED":
                cancelled.append(how)
        if cancelled and not is_cancelled(self._run.path):
            # Somebody wants the run to end, so no job is to follow.
            self._append("run_stopped", detail=f"{cancelled[0]}: {go_on(self._run.path)}")

    def _living(self, *, now: bool = False) -> set[str]:
        """Recorded allocations that Slurm has not ended; with `now` it is asked in any case."""
        known = set(read_allocations(self._run.path).job_ids)
        if not known:
            return known
        return known & living_of(self._book.ask() if now else self._book.look())

    def _end_strays(self) -> None:
        """Cancel jobs that a dead pyscale submitted and did not live to record."""
        strays = living_of(self._book.ask()) - {*read_allocations(self._run.path).job_ids}
        if strays:
            # A pilot that lives on finds that nobody recorded its job, and ends.
            with suppress(SlurmSilent):
                cancel(strays)
                self._append("jobs_ended", detail=str(len(strays)))

    def _submit(self) -> None:
        """Submit an allocation for each kind of the trials left, each after the one before."""
        left = trials_left(self._run, Course(self._journal.read()))
        for one in held_trials(self._run.plan, self._site):
            own = [trial for trial in left if trial in one.trials]
            if not own:
                continue
            time_min = time_of(self._run.plan, self._site, own, one)
            persist(
                partial(self._submit_one, one, time_min),
                # The controller may have taken the job before it fell silent.
                again=self._end_strays,
                tell=lambda said: self._say("slurm_silent", said),
                remedy=go_on(self._run.path),
            )
            self._book.ask()

    def _submit_one(self, one: HeldJob, time_min: int) -> None:
        living = self._living()
        known = reversed(read_allocations(self._run.path).job_ids)
        after = next((job for job in known if job in living), None)
        with blocked(*ENDING):
            job_id = submit(
                self._run.submissions,
                held_parameters(self._run.plan, self._site, one, time_min, after),
                work,
                str(self._run.path),
                f"Slurm rejects the allocation of {self._run.path.name} ({{said}}): change the "
                f"request of the site {self._site.name}, or free what the account may use",
            )
            self._record(
                Allocated(
                    job_id=job_id,
                    nodes=one.nodes_option,
                    cores=one.cores,
                    time_limit_min=time_min,
                    submit_utc=datetime.now(UTC),
                    after=after,
                    entries=one.entries,
                    workers=one.workers,
                )
            )
        self._hear()

    def _append(self, kind: EventKind, job_ids: tuple[str, ...] = (), detail: str = "") -> None:
        self._journal.append(kind, job_ids=job_ids, detail=detail)
        self._hear()

    def _say(self, kind: EventKind, detail: str) -> None:
        """Tell of an event without writing it: while a pilot works, the journal is its alone."""
        self._listener(Event(time_utc=datetime.now(UTC), kind=kind, detail=detail))


def held_parameters(
    plan: Plan, site: Site, held: HeldJob, time_min: int, after: str | None = None
) -> dict[str, Any]:
    """What submitit's Slurm executor is told, to submit an allocation."""
    options = held.options(site, time_min)
    in_image = any(trial.image is not None for trial in plan.trials)
    return {
        "job_name": job_name(plan.run_id),
        "setup": setup_lines(site, in_image=in_image) or None,
        "use_srun": False,
        "wckey": None,
        "additional_parameters": of_sbatch(options, after),
    }


def work(folder: str) -> None:
    """Run what is left of the run in a folder, and write its report; nothing else starts tasks."""
    run = RunFolder(Path(folder))
    if run.plan.site is None:
        benchmark(run, executor_here(run), lambda _event: None)
    elif pilot(run) and not is_followed(run.path):
        Holder(run, lambda _event: None).go_on()


def executor_here(run: RunFolder) -> Executor:
    """What starts tasks of a run on this machine."""
    return LocalExecutor(run.path, cache(local_placement))

"""Tasks on a cluster, by submitit's Slurm executor: an array, or a gang in one allocation."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pyscale.errors import UserError
from pyscale.executors.launch import launch, launch_rank
from pyscale.executors.protocol import Batch, Executor
from pyscale.executors.slurmjobs import POLL_S, JobBook, SlurmJob
from pyscale.executors.submission import Submission, parameters, submit
from pyscale.executors.waiting import wait_for_any
from pyscale.interruption import ENDING, blocked
from pyscale.planning.sites import Site
from pyscale.slurm.absence import persist
from pyscale.slurm.commands import slurm_is_here
from pyscale.slurm.queue import QueuedJob, SlurmSilent, array_of, cancel, job_name, jobs_named
from pyscale.store.folder import RunFolder
from pyscale.store.journal import EventKind, Journal
from pyscale.store.taskfiles import (
    explain_kill,
    forget_jobs,
    read_jobs,
    was_killed,
    withdraw_orders,
    write_order,
)

PATIENCE_S = 120.0
"""How long jobs may take to end: Slurm itself gives them 30 s between asking and killing."""


class SlurmExecutor(Executor):
    """Starts tasks as jobs of the cluster that the run's plan names."""

    def __init__(self, run: RunFolder, site: Site, journal: Journal) -> None:
        if not slurm_is_here():
            raise UserError(
                f"the run {run.path.name} needs Slurm, but its commands are not on PATH: run "
                "this on a login node, or load Slurm's module"
            )
        self._run = run
        self._site = site
        self._name = job_name(run.plan.run_id)
        self._journal = journal
        self._book = JobBook(self._name, self._tell)

    def run(self, batch: Batch) -> None:
        """Submit the tasks of a batch, behind all that is queued, and wait for them."""
        self._wait(self._ordered(batch))

    def queue(self, batch: Batch) -> str | None:
        """Submit the tasks of a batch, behind all that is queued; return why Slurm refuses."""
        try:
            self._ordered(batch)
        except UserError as refused:
            withdraw_orders(self._run.trial(batch.trial), [folder.name for folder in batch.orders])
            return str(refused)
        return None

    def take_up(self, batch: Batch) -> bool:
        """Wait for the jobs of tasks that an earlier pyscale submitted."""
        known = read_jobs(self._run.trial(batch.trial))
        job_ids = {folder: known[folder.name] for folder in batch.orders if folder.name in known}
        # Tasks are submitted all at once: where one has no job, none was recorded.
        if len(job_ids) < len(batch.orders):
            return False
        batch.taken_up()
        self._wait(job_ids)
        return True

    def end_strays(self) -> int:
        """Cancel jobs that a dead pyscale submitted and did not live to record."""
        trials = self._run.plan.trials
        recorded = {job for trial in trials for job in read_jobs(self._run.trial(trial)).values()}
        return self._end(_living(self._book.ask()) - recorded)

    def end_all(self) -> int:
        """Cancel every job of the run and return when Slurm has ended them."""
        try:
            # Not by the book, which waits for an answer however long that takes.
            living = _living(jobs_named(self._name))
        except SlurmSilent as silent:
            raise self._may_still_run(str(silent)) from silent
        if living:
            # From here on they are strays: whoever is killed meanwhile leaves them to the next.
            for trial in self._run.plan.trials:
                forget_jobs(self._run.trial(trial))
        return self._end(living)

    def _tell(self, kind: EventKind, detail: str) -> None:
        self._journal.append(kind, detail=detail)

    def _ordered(self, batch: Batch) -> Mapping[Path, str]:
        """Order the tasks of a batch, and submit them by one call of sbatch, which may refuse."""
        asked = Submission.of(batch).requested(self._site)
        # An earlier try of what follows the windows may have left its own.
        forget_jobs(self._run.trial(batch.trial), batch.name)

        def attempt() -> Mapping[Path, str]:
            # The newest job is behind all others; it may be of a pyscale that was killed.
            living = {int(array_of(job_id)) for job_id in _living(self._book.ask())}
            tokens = {
                folder: write_order(folder, order.model_copy(update={"requested": asked}))
                for folder, order in batch.orders.items()
            }
            # A Ctrl-C between the submission and its record would leave jobs unknown.
            with blocked(*ENDING):
                job_ids = self._submit(batch, tokens, str(max(living)) if living else None)
                batch.submitted({folder.name: job for folder, job in job_ids.items()})
            return job_ids

        return persist(
            attempt,
            # It may have taken the jobs before it fell silent.
            again=self.end_strays,
            tell=lambda said: self._tell("slurm_silent", said),
            remedy=f"go on with `pyscale resume {self._run.path.name}`",
        )

    def _submit(
        self, batch: Batch, tokens: Mapping[Path, str], behind: str | None
    ) -> dict[Path, str]:
        """Submit the tasks."""
        names = [str(folder) for folder in tokens]
        wanted = Submission.of(batch)

        def tasks(executor: Any) -> list[Any]:
            if wanted.is_gang:
                # All ranks have the id of their one job.
                return [executor.submit(launch_rank, names, list(tokens.values()))] * len(names)
            jobs: list[Any] = executor.map_array(launch, names, tokens.values())
            return jobs

        job_ids = submit(
            self._run.submissions,
            parameters(self._site, wanted, run_id=self._run.plan.run_id, behind=behind),
            tasks,
            lambda said: (
                f"Slurm rejects the {batch.name} of {batch.trial.id} ({said}): change the request "
                f"of the site {self._site.name}, or free what the account may use"
            ),
        )
        return dict(zip(tokens, job_ids, strict=True))

    def _wait(self, job_ids: Mapping[Path, str]) -> None:
        """Return when every task has an exit record, and those that were killed a reason."""
        pending = {folder: SlurmJob(job_id, self._book) for folder, job_id in job_ids.items()}
        while pending:
            for folder in wait_for_any(pending):
                del pending[folder]
        killed = {folder: job for folder, job in job_ids.items() if was_killed(folder)}
        if killed:
            # Slurm says why only once a job has ended.
            self._book.ask()
            self._have_ended(killed.values())
        for folder, job_id in killed.items():
            explain_kill(folder, self._book.ended_by_slurm(job_id, folder))

    def _end(self, strays: Collection[str]) -> int:
        """Cancel jobs that are recorded nowhere, and return when Slurm has ended them."""
        if not strays:
            return 0
        for trial in self._run.plan.trials:
            withdraw_orders(self._run.trial(trial), trial.tasks)
        try:
            cancel(strays)
        except SlurmSilent as silent:
            raise self._may_still_run(str(silent)) from silent
        if not self._have_ended(strays):
            raise self._may_still_run(f"they had not ended after {PATIENCE_S:g} s")
        return len(strays)

    def _have_ended(self, job_ids: Collection[str]) -> bool:
        """Whether Slurm knows jobs as ended, or no more, before it takes longer than it should."""
        deadline = time.monotonic() + PATIENCE_S
        while not self._book.refresh() or not _living(self._book.look()).isdisjoint(job_ids):
            if time.monotonic() > deadline:
                return False
            # Nothing tells when a job has ended that leaves no record.
            threading.Event().wait(POLL_S / 4)
        return True

    def _may_still_run(self, why: str) -> UserError:
        return UserError(
            f"jobs of this run may still run ({why}): see `squeue --name={self._name}`, and run "
            f"`pyscale cancel {self._run.path.name}` again later"
        )


def _living(jobs: Mapping[str, QueuedJob]) -> set[str]:
    return {job_id for job_id, job in jobs.items() if job.alive}

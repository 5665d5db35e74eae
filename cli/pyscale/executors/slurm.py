"""Tasks on a cluster, by submitit's Slurm executor: an array, or a gang in one allocation."""

from __future__ import annotations

import io
import signal
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import redirect_stderr
from pathlib import Path

from pyscale.errors import UserError
from pyscale.executors.clock import telling_time
from pyscale.executors.launch import launch, launch_rank
from pyscale.executors.protocol import Batch
from pyscale.executors.slurmjobs import POLL_S, JobBook, SlurmJob
from pyscale.executors.submission import is_gang, outside_of_any_job, parameters, requested
from pyscale.executors.waiting import wait_for_any
from pyscale.interruption import blocked
from pyscale.sites import Site
from pyscale.slurm.queue import SlurmSilent, cancel, job_name, jobs_named
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Journal
from pyscale.store.taskfiles import explain_kill, forget_jobs, read_jobs, was_killed, write_order

CANCEL_PATIENCE_S = 120.0
"""How long jobs may take to end: Slurm itself gives them 30 s between asking and killing."""
AWAY = ("unable to contact", "timed out", "connection refused", "try again", "zero bytes")
"""How sbatch says that the controller is away, and not that it refuses."""


class SlurmExecutor:
    """Starts tasks as jobs of a cluster.

    Parameters
    ----------
    run : RunFolder
    site : Site
        The cluster that the run's plan names.
    journal : Journal
        Is told when Slurm falls silent, and when it answers again.
    """

    on_this_node = False

    def __init__(self, run: RunFolder, site: Site, journal: Journal) -> None:
        self._run = run
        self._site = site
        self._name = job_name(run.plan.run_id)
        self._book = JobBook(self._name, journal)
        self._threads: int = run.plan.settings["cpus_per_worker"]

    def run(self, batch: Batch) -> None:
        """Submit the tasks of a batch by one call of sbatch, and wait for all."""
        asked = requested(self._site, batch.trial, self._threads, batch.name)
        with telling_time() as clock:
            tokens = {
                folder: write_order(
                    folder, order.model_copy(update={"requested": asked, "clock": clock})
                )
                for folder, order in batch.orders.items()
            }
            self._wait(self._submit(batch, tokens))

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
        living = {job_id for job_id, job in self._book.ask().items() if job.alive}
        return self._end(living - recorded)

    def end_all(self) -> int:
        """Cancel every job of the run and return when Slurm has ended them.

        Raises
        ------
        UserError
            If Slurm does not answer, or jobs do not end: some may still run.
        """
        try:
            living = {i for i, job in jobs_named(self._name).items() if job.alive}
            self._end(living)
        except (SlurmSilent, TimeoutError) as silent:
            raise UserError(
                f"jobs of this run may still run ({silent}): see `squeue --name={self._name}`, and "
                f"run `pyscale cancel {self._run.path.name}` again later"
            ) from silent
        if living:
            for trial in self._run.plan.trials:
                forget_jobs(self._run.trial(trial), living)
        return len(living)

    def _submit(self, batch: Batch, tokens: Mapping[Path, str]) -> dict[Path, str]:
        """Submit the tasks and tell of their jobs; a controller that is away is waited for."""
        while True:
            try:
                # A Ctrl-C between the submission and its record would leave jobs unknown.
                with blocked(signal.SIGINT, signal.SIGTERM):
                    job_ids = self._submit_once(batch, tokens)
                    batch.submitted({folder.name: job for folder, job in job_ids.items()})
                return job_ids
            except UserError as refused:
                if not any(word in str(refused).lower() for word in AWAY):
                    raise
            # It may have taken the jobs before it fell silent.
            self.end_strays()

    def _submit_once(self, batch: Batch, tokens: Mapping[Path, str]) -> dict[Path, str]:
        import submitit
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        trial, names = batch.trial, [str(folder) for folder in tokens]
        executor = submitit.SlurmExecutor(self._run.submissions)
        executor.update_parameters(
            **parameters(
                self._site,
                trial,
                threads=self._threads,
                run_id=self._run.plan.run_id,
                batch_name=batch.name,
                tasks=len(names),
                at_once=batch.at_once,
            )
        )
        try:
            # What sbatch complains of is in the error too.
            with outside_of_any_job(), redirect_stderr(io.StringIO()):
                jobs = (
                    [executor.submit(launch_rank, names, list(tokens.values()))] * len(names)
                    if is_gang(trial, batch.name)
                    else executor.map_array(launch, names, tokens.values())
                )
        except (FailedJobError, FailedSubmissionError) as error:
            said = str(error).strip().rpartition("\n")[2].removeprefix("sbatch: ")
            raise UserError(
                f"Slurm does not take the {batch.name} of {trial.id} ({said}): change what the "
                f"site {self._site.name} asks for, or free what the account may use"
            ) from error
        return {folder: job.job_id for folder, job in zip(tokens, jobs, strict=True)}

    def _wait(self, job_ids: Mapping[Path, str]) -> None:
        """Return when every task has an exit record, and those that were killed a reason."""
        pending = {
            folder: SlurmJob(job_id, folder, self._book) for folder, job_id in job_ids.items()
        }
        while pending:
            for folder in wait_for_any(pending):
                del pending[folder]
        for folder, job_id in job_ids.items():
            if was_killed(folder):
                # Slurm says why only once the job has ended.
                self._wait_until_gone({job_id})
                killer = self._book.ended_by_slurm(job_id)
                if killer is not None:
                    explain_kill(folder, killer)

    def _end(self, job_ids: Collection[str]) -> int:
        if job_ids:
            cancel(job_ids)
            self._wait_until_gone(job_ids)
        return len(job_ids)

    def _wait_until_gone(self, job_ids: Collection[str]) -> None:
        """Return when Slurm knows jobs as ended, or no more.

        Raises
        ------
        TimeoutError
            If it takes longer than Slurm ever should.
        """
        deadline = time.monotonic() + CANCEL_PATIENCE_S
        while living := [i for i in job_ids if (job := self._book.ask().get(i)) and job.alive]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(living)} jobs have not ended after {CANCEL_PATIENCE_S} s")
            # Nothing tells when a job has ended that leaves no record.
            threading.Event().wait(POLL_S / 4)

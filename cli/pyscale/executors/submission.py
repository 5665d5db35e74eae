"""The submission of a run's jobs, the same for the run and the dry run, and what lives of them."""

from __future__ import annotations

import io
import os
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any, NamedTuple

from pyscale.errors import UserError
from pyscale.executors.protocol import WINDOWS
from pyscale.planning.joboptions import Allocation, allocation
from pyscale.planning.plan import Plan, Trial
from pyscale.planning.sites import Site
from pyscale.slurm.commands import ControllerAwayError, is_away, words_of
from pyscale.slurm.queue import QueuedJob, SlurmSilent, cancel, job_name, jobs_named
from pyscale.store.folder import RunFolder
from pyscale.store.journal import EventKind
from pyscale_stages.binds import OPTION_PREFIX
from pyscale_stages.registry import load_stage

OF_THE_CLUSTER = ("SLURM_CLUSTERS", "SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT")
"""Variables that say which Slurm answers, and not which job this is."""
HARMLESS_SIGNAL = "CONT@0"
"""In place of submitit's own, which ends a task before its time or puts its job back in the queue;
Slurm sends this one to whatever it ends."""
WITHOUT_RANK_FAILURE = ("--kill-on-bad-exit=0", "--wait=0")
"""Options of srun: one rank's end, good or bad, does not end the others."""


class StepAsked(NamedTuple):
    """A step of a trial: all its windows, or one task that follows them."""

    name: str
    tasks: int
    at_once: int
    wanted: Allocation
    """What one of the tasks asks for."""


def asked(site: Site, trial: Trial, name: str, threads: int) -> Allocation:
    """What one task of a step asks of a site; joining and comparing outputs needs no GPU."""
    device = trial.device if name == WINDOWS else "cpu"
    return allocation(site, load_stage(trial.stage), device, threads, trial.gpus)


def asked_by_window(plan: Plan, trial: Trial, site: Site) -> Allocation:
    """What one window of a trial asks of a site."""
    return asked(site, trial, WINDOWS, plan.threads_of(trial))


def steps_asked(plan: Plan, trial: Trial, site: Site) -> Iterator[StepAsked]:
    """Steps of a trial in their order, with what they ask of a site."""
    windows = asked_by_window(plan, trial, site)
    yield StepAsked(WINDOWS, len(trial.windows), trial.processes, windows)
    for task in trial.tasks[len(trial.windows) :]:
        yield StepAsked(task, 1, 1, asked(site, trial, task, plan.threads_of(trial)))


def submit(
    folder: Path, told: Mapping[str, Any], job: Callable[[str], None], argument: str, refused: str
) -> str:
    """Id of a job that submitit's Slurm executor submits; ControllerAwayError where it cannot.

    It keeps its files in a folder, and is told by `update_parameters`. Where sbatch rejects the
    job, the user is told `refused`, with its words in place of {said}.
    """
    from submitit import SlurmExecutor
    from submitit.core.utils import FailedJobError, FailedSubmissionError

    executor = SlurmExecutor(folder)
    executor.update_parameters(**told)
    try:
        # What sbatch complains of is in the error too.
        with outside_of_any_job(), redirect_stderr(io.StringIO()):
            return str(executor.submit(job, argument).job_id)
    except (FailedJobError, FailedSubmissionError) as error:
        said = words_of(str(error))
        # Slurm's own word is the last.
        if is_away(str(error).strip().rpartition("\n")[2]):
            raise ControllerAwayError(f"sbatch: {said}") from error
        raise UserError(refused.replace("{said}", said)) from error


def of_sbatch(
    options: Mapping[str, str | None], behind: str | None = None
) -> dict[str, str | bool]:
    """Options of a job of pyscale, held behind another, as submitit's Slurm executor takes them."""
    return {
        **{name: True if value is None else value for name, value in options.items()},
        # What Slurm ends is pyscale's to try again: it starts the whole trial anew.
        "no-requeue": True,
        "signal": HARMLESS_SIGNAL,
        **({"dependency": f"afterany:{behind}"} if behind else {}),
    }


def setup_lines(site: Site, *, in_image: bool) -> list[str]:
    """Lines of shell that a job begins with."""
    lines = [*site.setup, *(f"module load {shlex.quote(module)}" for module in site.modules)]
    if lines:
        # Without what the site needs nothing is to be measured.
        lines.insert(0, "set -eo pipefail")
    if site.scratch is not None:
        lines += [f'export TMPDIR="{site.scratch}"', 'mkdir -p -- "$TMPDIR"']
    if in_image and site.binds:
        # The container program adds these to what each task's own command line binds.
        variable = f"{OPTION_PREFIX}BIND"
        binds = ",".join(f"{path}:{path}:ro" for path in site.binds)
        lines.append(f'export {variable}="${{{variable}:+${variable},}}{binds}"')
    return lines


def script_of(asked: Mapping[str, Any], folder: Path) -> str:
    """The text that submitit gives to sbatch, for what its Slurm executor is told."""
    from submitit.slurm.slurm import _make_sbatch_string

    command = shlex.join([sys.executable, "-u", "-m", "submitit.core._submit", str(folder)])
    return str(_make_sbatch_string(command=command, folder=folder, **asked))


@contextmanager
def outside_of_any_job() -> Iterator[None]:
    """Hide the variables of the job that pyscale itself may run in.

    A job would take them for its own: srun refuses memory by the core beside memory by the node.
    """
    from submitit.helpers import clean_env

    kept = {name: os.environ[name] for name in OF_THE_CLUSTER if name in os.environ}
    with clean_env():
        os.environ.update(kept)
        yield


TO_END_S = 120.0
"""How long jobs may take to end: Slurm itself gives them 30 s between asking and killing."""
LOOK_S = 0.5
"""Between looks whether jobs that were cancelled have ended."""
Tell = Callable[[EventKind, str], object]


def living_of(jobs: Mapping[str, QueuedJob]) -> set[str]:
    """Ids of jobs that have not ended."""
    return {job_id for job_id, job in jobs.items() if job.alive}


class JobBook:
    """What Slurm last said of the jobs of one name, which all jobs of the run have.

    It is asked at most every `poll_s` seconds. `tell` hears of an event's kind and detail when
    Slurm falls silent and when it answers again.
    """

    def __init__(self, name: str, poll_s: float, tell: Tell) -> None:
        self._name = name
        self._poll_s = poll_s
        self._tell = tell
        self._jobs: dict[str, QueuedJob] | None = None
        self._asked_s = 0.0
        self._silent = False

    def look(self) -> dict[str, QueuedJob]:
        """Jobs as Slurm last told them, asked anew where that was a while ago."""
        if self._jobs is None:
            return self.ask()
        if time.monotonic() - self._asked_s >= self._poll_s:
            self.refresh()
        return self._jobs

    def ask(self) -> dict[str, QueuedJob]:
        """Jobs as Slurm tells them now, however long it takes to answer."""
        while not self.refresh() or self._jobs is None:
            # Nothing tells when a controller is back.
            threading.Event().wait(self._poll_s)
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
        self._asked_s = time.monotonic()
        return not self._silent


def end_jobs(run: RunFolder, tell: Tell) -> int:
    """Cancel every job of a run and return when Slurm has ended them; say how many there were."""
    name = job_name(run.plan.run_id)
    assert run.plan.site is not None, "only a cluster has jobs"
    book = JobBook(name, run.plan.site.poll_s, tell)
    try:
        # Not by the book, which waits for an answer however long that takes.
        if living := living_of(jobs_named(name)):
            cancel(living)
    except SlurmSilent as silent:
        raise _may_still_run(run, str(silent)) from silent
    deadline = time.monotonic() + TO_END_S
    while living and not (book.refresh() and living.isdisjoint(living_of(book.look()))):
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

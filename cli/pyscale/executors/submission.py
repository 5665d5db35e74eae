"""The submission of a trial's tasks: the same for the run itself and the dry run."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyscale.errors import UserError
from pyscale.executors.protocol import WINDOWS
from pyscale.plan import Plan, Trial
from pyscale.sbatch.options import Allocation, allocation, slurm_options
from pyscale.sites import Site
from pyscale.slurm.queue import job_name
from pyscale.store.records import Requested
from pyscale_stages.registry import load_stage

OF_THE_CLUSTER = ("SLURM_CLUSTERS", "SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT")
"""Variables that say which Slurm answers, and not which job this is."""
HARMLESS_SIGNAL = "CONT@0"
"""In place of submitit's own, which ends a task before its time or puts its job back in the queue;
Slurm sends this one to whatever it ends."""

AWAY = ("unable to contact", "timed out", "connection refused", "try again", "zero bytes")
"""How sbatch and srun say that the controller is away, and not that it refuses."""


@dataclass(frozen=True)
class Submission:
    """Tasks of a trial that one call of sbatch submits."""

    trial: Trial
    batch_name: str
    """`windows`, `merge`, `check` or `beside`."""
    tasks: int
    at_once: int
    """How many of them may run at the same time."""

    @property
    def is_gang(self) -> bool:
        """Whether the tasks are ranks of one job, and not jobs of an array."""
        return is_gang(self.trial, self.batch_name)


def submissions(trial: Trial) -> Iterator[Submission]:
    """All that a trial submits, in the order in which it does."""
    yield Submission(trial, WINDOWS, len(trial.windows), trial.processes)
    for task in trial.tasks[len(trial.windows) :]:
        yield Submission(trial, task, 1, 1)


def refuse_shared_gpus(plan: Plan) -> None:
    """Raise where workers are to share a GPU that Slurm gives to each job alone."""
    shared = {
        trial.gpu_sharing: None
        for trial in plan.trials
        if trial.device == "cuda" and trial.gpu_sharing != "own"
    }
    if shared:
        raise UserError(
            f"gpu_sharing {' and '.join(shared)}: only the staff of a cluster can let jobs share "
            "a GPU, so run pyscale inside one job on the node (salloc or sbatch, then pyscale "
            "run --executor local), or use gpu_sharing own"
        )


def is_gang(trial: Trial, batch_name: str) -> bool:
    """Whether the tasks of a batch are ranks of one job."""
    return trial.layout == "gang" and batch_name == WINDOWS


def asked_for(site: Site, trial: Trial, batch_name: str, threads: int) -> Allocation:
    """What one task of a batch asks of a site.

    Joining windows and comparing outputs needs no GPU, wherever they were computed.
    """
    device = trial.device if batch_name == WINDOWS else "cpu"
    return allocation(site, load_stage(trial.stage), device, threads, trial.gpus)


def options_of(site: Site, submission: Submission, threads: int) -> dict[str, str | None]:
    """Options of sbatch by which a job of a submission asks a site for what it needs.

    The job of a gang has all its tasks, one of an array one. A site's file that leaves open what it
    needs to say is a UserError.
    """
    trial = submission.trial
    wanted = asked_for(site, trial, submission.batch_name, threads)
    if not submission.is_gang:
        return slurm_options(site, wanted)
    return slurm_options(site, wanted, submission.tasks, trial.nodes)


def requested(site: Site, trial: Trial, threads: int, batch_name: str = WINDOWS) -> Requested:
    """What one task of a batch asks of a site, as its order records it."""
    wanted = asked_for(site, trial, batch_name, threads)
    return Requested(
        cpus=wanted.cpus,
        memory_bytes=None if site.memory_option == "none" else wanted.memory_mib << 20,
        time_limit_s=60 * wanted.time_min,
        gpus=wanted.gpus,
    )


def parameters(
    site: Site, submission: Submission, *, threads: int, run_id: str, behind: str | None = None
) -> dict[str, Any]:
    """What submitit's Slurm executor is told, by `update_parameters`, to submit tasks.

    None of them may start before the end of the job that they are `behind`.
    """
    trial, gang = submission.trial, submission.is_gang
    wanted = asked_for(site, trial, submission.batch_name, threads)
    return {
        "job_name": job_name(run_id),
        "comment": f"{trial.id}/{submission.batch_name}",
        "array_parallelism": submission.at_once,
        "setup": setup_lines(site, in_image=trial.image is not None) or None,
        "use_srun": gang,
        "srun_args": _srun_options(wanted) if gang else None,
        "wckey": None,
        "additional_parameters": of_sbatch(options_of(site, submission, threads), behind),
    }


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


def refusal(error: Exception) -> str | None:
    """What sbatch says to a job that it refuses; None where the controller was away."""
    said = str(error).strip().rpartition("\n")[2].removeprefix("sbatch: ")
    return None if any(word in said.lower() for word in AWAY) else said


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
        variable = f"{site.container_program.upper()}_BIND"
        binds = ",".join(f"{path}:{path}:ro" for path in site.binds)
        lines.append(f'export {variable}="${{{variable}:+${variable},}}{binds}"')
    return lines


def script(site: Site, submission: Submission, *, threads: int, run_id: str, folder: Path) -> str:
    """The text that submitit, with its own files in a folder, gives to sbatch for a batch."""
    arrayed = submission.tasks > 1 and not submission.is_gang
    asked = parameters(site, submission, threads=threads, run_id=run_id)
    return script_of(asked, folder, submission.tasks if arrayed else None)


def script_of(asked: Mapping[str, Any], folder: Path, map_count: int | None = None) -> str:
    """The text that submitit gives to sbatch, for what its Slurm executor is told."""
    from submitit.slurm.slurm import _make_sbatch_string

    return str(
        _make_sbatch_string(
            command=shlex.join([sys.executable, "-u", "-m", "submitit.core._submit", str(folder)]),
            folder=folder,
            map_count=map_count,
            **asked,
        )
    )


@contextmanager
def outside_of_any_job() -> Iterator[None]:
    """Hide the variables of the job that pyscale itself may run in.

    A job inherits them from the one that submits it, and takes them for its own: srun refuses one
    with memory by the core in one that asked for memory by the node.
    """
    from submitit.helpers import clean_env

    kept = {name: os.environ[name] for name in OF_THE_CLUSTER if name in os.environ}
    with clean_env():
        os.environ.update(kept)
        yield


def _srun_options(wanted: Allocation) -> list[str]:
    """Options of the srun that starts a gang's ranks."""
    return [
        # Slurm does not hand this on from the job to its ranks.
        f"--cpus-per-task={wanted.cpus}",
        # One rank's end, good or bad, does not end the others.
        "--kill-on-bad-exit=0",
        "--wait=0",
    ]

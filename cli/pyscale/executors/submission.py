"""The submission of a trial's tasks: the same for the run itself and the dry run."""

from __future__ import annotations

import io
import os
import shlex
import sys
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
    folder: Path,
    told: Mapping[str, Any],
    tasks: Callable[[Any], list[Any]],
    refused: Callable[[str], str],
) -> list[str]:
    """Ids of jobs that submitit's Slurm executor submits; ControllerAwayError where it cannot.

    It keeps its files in a folder, and is told by `update_parameters`; `tasks` gives it what to
    run, and `refused` tells the user what sbatch says where it rejects them.
    """
    from submitit import SlurmExecutor
    from submitit.core.utils import FailedJobError, FailedSubmissionError

    executor = SlurmExecutor(folder)
    executor.update_parameters(**told)
    try:
        # What sbatch complains of is in the error too.
        with outside_of_any_job(), redirect_stderr(io.StringIO()):
            return [str(job.job_id) for job in tasks(executor)]
    except (FailedJobError, FailedSubmissionError) as error:
        said = words_of(str(error))
        # Slurm's own word is the last.
        if is_away(str(error).strip().rpartition("\n")[2]):
            raise ControllerAwayError(f"sbatch: {said}") from error
        raise UserError(refused(said)) from error


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

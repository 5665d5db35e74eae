"""The srun of a step: one task of a trial, or all ranks of a gang, inside the run's allocation."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyscale.executors.protocol import Batch
from pyscale.executors.submission import OF_THE_CLUSTER, WITHOUT_RANK_FAILURE, Submission
from pyscale.planning.joboptions import Allocation, as_words, node_options, speaks_of_threads
from pyscale.planning.sites import Site


def step_command(site: Site, batch: Batch, tokens: Mapping[Path, str], job_id: str) -> list[str]:
    """Command line that runs tasks, the ranks of a gang if several, as one step of a job."""
    return [
        *_srun(site, batch, len(tokens), job_id),
        "--input=none",
        f"--time={Submission.of(batch).asked(site).time_min}",
        *(sys.executable, "-u", "-m", "pyscale.executors.launch", "0"),
        *(word for folder, token in tokens.items() for word in (str(folder), token)),
    ]


def step_environment() -> dict[str, str]:
    """The environment of a step: without what the job asked for, which srun would ask for again."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in OF_THE_CLUSTER or not name.startswith(("SLURM_", "SLURMD_", "SRUN_"))
    }


def _srun(site: Site, batch: Batch, tasks: int, job_id: str) -> list[str]:
    wanted = Submission.of(batch).asked(site)
    return [
        "srun",
        f"--jobid={job_id}",
        # Without it a step would take all cores that the job has on its nodes.
        "--exact",
        "--mpi=none",
        *WITHOUT_RANK_FAILURE,
        f"--ntasks={tasks}",
        f"--cpus-per-task={wanted.cpus}",
        *as_words(node_options(wanted, tasks)),
        # Where the site's own options do not say how a task is bound.
        *([] if speaks_of_threads(wanted.request) else ["--cpu-bind=cores"]),
        _memory(site, wanted, tasks),
        # All GPUs of the job are of one type, and Slurm refuses one that was not asked for.
        f"--gpus-per-task={wanted.gpus}" if wanted.gpus else "--gres=none",
        # Ranks reach each other's memory only on GPUs that they see; each takes its own of them.
        *(["--gpu-bind=none"] if wanted.gpus and tasks > 1 else []),
    ]


def _memory(site: Site, wanted: Allocation, tasks: int) -> str:
    """Memory of a step; by default it would take all that the job has, and no other could begin."""
    if not site.memory:
        return "--mem=0"
    if tasks == 1:
        return f"--mem={wanted.memory_mib}M"
    return f"--mem-per-cpu={wanted.memory_mib_per_core}M"

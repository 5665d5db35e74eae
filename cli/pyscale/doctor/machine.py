"""Checks of this machine's cores, memory, load and thread settings."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping

import psutil

from pyscale.findings import Finding, ok, warning
from pyscale.planning.plan import Plan
from pyscale_stages.commandline import THREAD_VARIABLES
from pyscale_stages.measure import cgroups, stamp
from pyscale_stages.measure.cpus import first_threads, usable_cpus
from pyscale_stages.registry import load_stage
from pyscale_stages.wording import plural

MIB = 1 << 20
_NO_THREADS = {
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUBLAS_WORKSPACE_CONFIG",
    "PYTHONHASHSEED",
}
"""What the stamp records beside what steers threads and their memory."""


def cores(plan: Plan) -> Finding:
    """Compare the usable cores with what the workers ask for."""
    cores = len(first_threads(usable_cpus()))
    workers, each = max(
        ((trial.processes, plan.threads_of(trial)) for trial in plan.trials), key=math.prod
    )
    what = f"{plural(workers, 'worker')} of {plural(each, 'core')} each, and {cores} usable cores"
    if workers * each <= cores:
        return ok("cpu.workers", "", what)
    most = max(1, cores // each)
    do = f"use --workers up to {most}, or a job with {workers * each} cores"
    return warning("cpu.workers", "", f"{what}: workers would share cores", do)


def thread_variables(environment: Mapping[str, str], plan: Plan) -> Iterator[Finding]:
    """Name variables of the user that have no effect, and those that have one."""
    given = {name: environment[name] for name in THREAD_VARIABLES if name in environment}
    counts = {str(plan.threads_of(trial)) for trial in plan.trials}
    lost = [f"{name}={value}" for name, value in given.items() if {value} != counts]
    if lost:
        yield warning(
            "cpu.threads",
            ", ".join(lost),
            f"no effect, as each task sets its threads to {plan.threads_in_words}",
            "unset it, and use --cpus-per-worker or the threads of the grid",
        )
    reaching = [
        f"{name}={environment[name]}"
        for name in stamp.THREAD_VARIABLES
        if name in environment and name not in {*THREAD_VARIABLES, *_NO_THREADS}
    ]
    # None reaches the inside of an image.
    if reaching and plan.settings["runtime"] == "native":
        yield warning(
            "cpu.environment",
            ", ".join(reaching),
            "it reaches the tasks and changes their threads",
            "unset it, unless you mean to measure it",
        )


def memory(plan: Plan) -> Finding:
    """Compare the memory that there is with what the stages ask for at the largest N."""
    limits = {
        "free memory": psutil.virtual_memory().available,
        "the control group's limit": cgroups.limits().memory_bytes,
        "the job's memory": _slurm_memory_bytes(os.environ),
    }
    return enough_memory(plan, {what: size for what, size in limits.items() if size is not None})


def enough_memory(plan: Plan, limits: Mapping[str, int]) -> Finding:
    """Compare the tightest of some limits in bytes with what the stages ask for."""
    what, there_bytes = min(limits.items(), key=lambda item: item[1])
    needs_gib = {
        (trial.entry, trial.processes): load_stage(trial.stage).resources.memory_gib
        for trial in plan.trials
    }
    (entry, workers), each_gib = max(needs_gib.items(), key=lambda item: item[0][1] * item[1])
    needed_gib, there_gib = workers * each_gib, there_bytes / 2**30
    said = f"{plural(workers, 'worker')} may need {needed_gib:.0f} GiB"
    if needed_gib <= there_gib:
        return ok("memory.workers", entry, f"{said}, within {what} of {there_gib:.1f} GiB")
    return warning(
        "memory.workers",
        entry,
        f"{said}, more than {what} of {there_gib:.1f} GiB",
        f"use --workers up to {max(1, int(there_gib // each_gib))}, or ask for more memory",
    )


def _slurm_memory_bytes(environment: Mapping[str, str]) -> int | None:
    """Memory of the job on this node; None where Slurm names none."""
    per_node = int(environment.get("SLURM_MEM_PER_NODE", 0))
    per_cpu = int(environment.get("SLURM_MEM_PER_CPU", 0))
    granted = per_node or per_cpu * int(environment.get("SLURM_CPUS_ON_NODE", 1))
    # Slurm counts in MiB, and by 0 it means the whole node.
    return granted * MIB or None


def load(load_1min: float, cpus: int) -> Finding:
    """Look whether other work runs on this machine."""
    what = f"the load is {load_1min:.2f} on {cpus} CPUs"
    if load_1min <= max(0.5, 0.1 * cpus):
        return ok("cpu.load", "", what)
    return warning(
        "cpu.load",
        "",
        f"{what}: other work would affect the measurement",
        "measure on a quiet node, or ask for whole nodes (--exclusive)",
    )

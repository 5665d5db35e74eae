"""Checks of usable cores, memory and thread settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyscale.doctor.findings import Finding, beside_the_point, judged, ok, warning
from pyscale.doctor.subject import Subject
from pyscale_stages.commandline import THREAD_VARIABLES
from pyscale_stages.measure import cgroups, stamp
from pyscale_stages.measure.cpus import affinity, first_threads, usable_cpus
from pyscale_stages.wording import plural

MIB = 1 << 20
_NO_THREADS = {
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUBLAS_WORKSPACE_CONFIG",
    "PYTHONHASHSEED",
}
"""What the stamp records beside what steers threads and their memory."""


@dataclass(frozen=True)
class Bounds:
    """Everything that says how many CPUs this process has."""

    installed: int
    """CPUs of the machine: programs that ask `os.cpu_count` start as many threads."""
    affinity: int
    quota: float | None
    """CPUs of the control group's quota."""
    slurm: int | None
    """CPUs that Slurm grants to a task, or to the job on this node."""
    usable: Sequence[int]
    """Numbers of those that may be kept busy."""
    cores: int

    @classmethod
    def of_this_process(cls, environment: Mapping[str, str]) -> Bounds:
        """Ask the kernel and the batch system."""
        granted = environment.get("SLURM_CPUS_PER_TASK") or environment.get(
            "SLURM_CPUS_ON_NODE", ""
        )
        usable = usable_cpus()
        return cls(
            installed=os.cpu_count() or 1,
            affinity=len(affinity()),
            quota=cgroups.limits().cpus,
            slurm=int(granted) if granted.isdigit() else None,
            usable=usable,
            cores=len(first_threads(usable)),
        )


def cores(subject: Subject) -> Iterator[Finding]:
    """Compare the cores that there are with those that the workers need."""
    bounds = Bounds.of_this_process(os.environ)
    yield usable(bounds)
    yield enough(bounds, *subject.widest)
    yield hyperthreads(bounds)
    yield from thread_variables(os.environ, subject)


def usable(bounds: Bounds) -> Finding:
    """Say how many CPUs may be kept busy, and what bounds them."""
    said = [f"{bounds.affinity} by affinity"]
    if bounds.quota is not None:
        said.append(f"{bounds.quota:g} by the control group's quota")
    if bounds.slurm is not None:
        said.append(f"{bounds.slurm} by Slurm")
    count = len(bounds.usable)
    sentence = f"{count} of {bounds.installed} CPUs are usable ({', '.join(said)})"
    return judged(
        "cpu.usable",
        sentence,
        (
            bounds.slurm is not None and bounds.affinity > bounds.slurm,
            ": this cluster does not bind jobs to their CPUs, so other jobs may share the measured "
            "ones",
            "ask for whole nodes (--exclusive)",
        ),
        (
            bounds.slurm is not None and bounds.affinity < bounds.slurm,
            ": Slurm grants more CPUs than this process is bound to",
            "start tasks by srun --cpus-per-task, or ask for --cpu-bind=none",
        ),
        (
            bounds.quota is not None and bounds.quota < count,
            ": even one worker would be throttled by its quota",
            "give the container or job at least one CPU per worker",
        ),
    )


def enough(bounds: Bounds, workers: int, cpus_per_worker: int) -> Finding:
    """Compare the physical cores with what the workers ask for."""
    check = "cpu.workers"
    needed = workers * cpus_per_worker
    each = plural(cpus_per_worker, "core")
    sentence = f"{plural(workers, 'worker')} of {each} each need"
    if needed <= bounds.cores:
        return ok(check, f"{sentence} {needed} of the {bounds.cores} usable cores")
    return warning(
        check,
        f"{sentence} more than the {bounds.cores} usable cores: workers would share cores and slow "
        "each other down",
        f"use --workers up to {max(1, bounds.cores // cpus_per_worker)}, or a job with {needed} "
        "cores",
    )


def hyperthreads(bounds: Bounds) -> Finding:
    """Say whether some of the usable CPUs are second threads of the same core."""
    seconds = len(bounds.usable) - bounds.cores
    sentence = (
        f"{seconds} of {len(bounds.usable)} usable CPUs are hyperthreads: workers are placed on "
        "whole cores"
    )
    sentence = sentence if seconds else "every usable CPU is its own core"
    return ok("cpu.hyperthreads", sentence)


def thread_variables(environment: Mapping[str, str], subject: Subject) -> Iterator[Finding]:
    """Tell which variables of the user have no effect, and which have one that is not meant."""
    given = {name: environment[name] for name in THREAD_VARIABLES if name in environment}
    lost = [
        f"{name}={value}"
        for name, value in given.items()
        if {value} != {str(count) for count in subject.threads}
    ]
    threads = " or ".join(map(str, subject.threads))
    if lost:
        by = "--cpus-per-worker" if len(subject.threads) == 1 else "the threads of the grid"
        yield warning(
            "cpu.threads",
            f"{', '.join(lost)} would have no effect: each task sets its threads to {threads} "
            f"({by})",
            f"unset them, and use {by}",
        )
    else:
        noun = "thread" if subject.threads == [1] else "threads"
        yield ok("cpu.threads", f"each task sets its libraries to {threads} {noun}")
    reaching = [
        f"{name}={environment[name]}"
        for name in stamp.THREAD_VARIABLES
        if name in environment and name not in {*THREAD_VARIABLES, *_NO_THREADS}
    ]
    if not reaching:
        return
    if subject.runtime == "apptainer":
        yield beside_the_point(
            "cpu.environment", f"{', '.join(reaching)} does not reach the inside of an image"
        )
    else:
        yield warning(
            "cpu.environment",
            f"{', '.join(reaching)} reaches the tasks and changes their threads",
            "unset them, unless you mean to measure them",
        )


def memory(subject: Subject) -> Iterator[Finding]:
    """Compare the memory that there is with what the stages ask for at the largest N."""
    import psutil

    limits = {
        "free memory": psutil.virtual_memory().available,
        "the control group's limit": cgroups.limits().memory_bytes,
        "the job's memory": _slurm_memory_bytes(os.environ),
    }
    yield enough_memory(subject, {what: size for what, size in limits.items() if size is not None})


def enough_memory(subject: Subject, limits: Mapping[str, int]) -> Finding:
    """Compare the tightest of some limits in bytes with what the stages ask for."""
    what, there_bytes = min(limits.items(), key=lambda item: item[1])
    hungriest = max(subject.entries, key=lambda entry: entry.definition.resources.memory_gib)
    each_gib = hungriest.definition.resources.memory_gib
    needed_gib, there_gib = subject.workers * each_gib, there_bytes / 2**30
    workers = plural(subject.workers, "worker")
    sentence = f"{workers} of {hungriest.name} may need {needed_gib:.0f} GiB"
    there = f"{what} of {there_gib:.1f} GiB"
    if needed_gib <= there_gib:
        return ok("memory.enough", f"{sentence}, within {there}")
    return warning(
        "memory.enough",
        f"{sentence}, more than {there}",
        f"use --workers up to {max(1, int(there_gib // each_gib))}, or ask for more memory",
    )


def _slurm_memory_bytes(environment: Mapping[str, str]) -> int | None:
    """Memory of the job on this node; None where Slurm names none."""
    per_node = int(environment.get("SLURM_MEM_PER_NODE", 0))
    per_cpu = int(environment.get("SLURM_MEM_PER_CPU", 0))
    granted = per_node or per_cpu * int(environment.get("SLURM_CPUS_ON_NODE", 1))
    # Slurm counts in MiB, and by 0 it means the whole node.
    return granted * MIB or None

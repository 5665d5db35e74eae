"""Checks of this machine's cores, memory, load, thread settings and GPU, without computing."""

from __future__ import annotations

import math
import os
import platform
import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import psutil

from pyscale.doctor.examined import is_native
from pyscale.findings import Finding, ok, problem, refused, warning
from pyscale.planning.placement import is_apple_silicon, visible_gpus
from pyscale.planning.plan import Plan
from pyscale.wording import listing
from pyscale_stages.commandline import THREAD_VARIABLES
from pyscale_stages.errors import MissingPart
from pyscale_stages.measure import cgroups, stamp
from pyscale_stages.measure.cpus import first_threads, usable_cpus
from pyscale_stages.measure.gpus import describe_gpus, gpu_present
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


_BUILT_FOR = re.compile(r"^cuda\b.*= '(?P<version>(?P<major>\d+)[^']*)'", re.MULTILINE)
"""What torch's own `version.py` says of its build."""


def devices(plan: Plan) -> Iterator[Finding]:
    """Look for the devices that a plan computes on, in milliseconds."""
    asked = {plan.settings["device"], *(trial.device for trial in plan.trials)}
    if "cuda" in asked:
        found = _cuda()
        yield found
        if found.status == "ok":
            yield from torch_without_cuda(plan)
    if "mps" in asked:
        yield _mps()


def _cuda() -> Finding:
    if not gpu_present():
        return problem(
            "gpu.device",
            "",
            "no NVIDIA GPU on this machine",
            "run on a node that has one (on a cluster `srun --gpus=1 pyscale doctor --device "
            "cuda`; in a container with --nv), or with --device cpu",
        )
    try:
        gpus = describe_gpus()
    except MissingPart as error:
        return refused("gpu.device", "", error)
    said = listing([gpu.name for gpu in gpus])
    seen = visible_gpus()
    if not seen:
        return problem(
            "gpu.device",
            f"CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES', '')!r}",
            f"it hides {said}",
            "unset it, or ask the batch system for a GPU",
        )
    return ok("gpu.device", "", f"{said}; {len(seen)} for this process")


def _mps() -> Finding:
    what = f"this is {platform.system()} on {platform.machine()}"
    if is_apple_silicon():
        return ok("gpu.device", "", what)
    return problem(
        "gpu.device", "", f"{what}, without Apple's GPU", "run on a Mac with Apple silicon"
    )


def torch_without_cuda(plan: Plan) -> Iterator[Finding]:
    """Name a torch of this environment that cannot use the GPU.

    Torch is not imported, which takes seconds: its build is read from the file that says it.
    """
    wanted = any(
        trial.device == "cuda" and is_native(trial) and "torch" in load_stage(trial.stage).packages
        for trial in plan.trials
    )
    torch = find_spec("torch")
    if not wanted or torch is None or torch.origin is None:
        return
    said = Path(torch.origin).with_name("version.py").read_text("utf-8")
    built_for = _BUILT_FOR.search(said)
    if built_for is None:
        do = "install a build of torch for CUDA, or use --device cpu"
        yield problem("gpu.torch", "torch", "built without CUDA", do)
        return
    try:
        driver = next((gpu.cuda for gpu in describe_gpus()), None)
    except MissingPart:
        driver = None  # Which the check of the device says.
    # Since CUDA 11 a driver serves all builds for its own major version.
    if driver is not None and int(driver.partition(".")[0]) < int(built_for["major"]):
        yield problem(
            "gpu.torch",
            "torch",
            f"built for CUDA {built_for['version']}, but the NVIDIA driver supports only CUDA "
            f"{driver}",
            "update the driver, or install a torch for a CUDA version that the driver supports",
        )

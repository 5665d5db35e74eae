"""The hardware and software that a task ran on, from an allow-list.

No user names, no addresses, no environment but the variables named here.
"""

from __future__ import annotations

import os
import platform
import resource
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from pyscale_stages.commandline import THREAD_VARIABLES as OF_LIBRARIES
from pyscale_stages.contract import Record
from pyscale_stages.errors import MissingPart
from pyscale_stages.measure import cgroups, cpus
from pyscale_stages.measure.cgroups import Limits, kernel_text
from pyscale_stages.measure.cpus import Cpu
from pyscale_stages.measure.gpus import Gpu, describe_gpus, gpu_present
from pyscale_stages.measure.mounts import Filesystem, filesystem_of
from pyscale_stages.measure.nodename import NODE_VARIABLE, node_name

IMAGE_VARIABLE = "PYSCALE_IMAGE_SHA256"
"""Set by whoever starts the image: sha256 of the SIF file."""
COMMIT_VARIABLE = "PYSCALE_GIT_COMMIT"
"""Set by the application: commit of the code that runs."""

SLURM_VARIABLES = (
    NODE_VARIABLE,
    "SLURM_CLUSTER_NAME",
    "SLURM_JOB_ID",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_STEP_ID",
    "SLURM_RESTART_COUNT",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_QOS",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_NUM_NODES",
    "SLURM_NTASKS",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_CPUS_PER_TASK",
    "SLURM_CPUS_ON_NODE",
    "SLURM_JOB_CPUS_PER_NODE",
    "SLURM_THREADS_PER_CORE",
    "SLURM_CPU_BIND",
    "SLURM_DISTRIBUTION",
    "SLURM_MEM_PER_NODE",
    "SLURM_MEM_PER_CPU",
    "SLURM_MEM_PER_GPU",
    "SLURM_JOB_GPUS",
    "SLURM_GPUS_ON_NODE",
    "SLURM_GPUS_PER_TASK",
)
THREAD_VARIABLES = (
    *OF_LIBRARIES,
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "OMP_DYNAMIC",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "RAYON_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUBLAS_WORKSPACE_CONFIG",
    "MALLOC_ARENA_MAX",
    "PYTHONHASHSEED",
)

_DMI = Path("/sys/class/dmi/id")
# Read when the process starts: later the one-minute load would be the task's own.
_LOAD_AT_START = os.getloadavg()[0]


class Memory(Record):
    """Memory of the node."""

    total_bytes: int
    available_bytes: int = Field(description="At the moment of the stamp")
    used_bytes: int | None = Field(None, description="Likewise; caches are neither")
    swap_total_bytes: int
    swap_used_bytes: int
    transparent_hugepages: str = Field(description="`always`, `madvise` or `never`")
    numa_balancing: bool | None = None


class Stamp(Record):
    """Where a task ran and what could shape its speed."""

    label: str = Field(description="The hardware in a few words; nodes of one kind share it")
    node: str = Field(description="Slurm's name of the node in a job, else the host's")
    machine: str = Field(description="Maker and model, or the hypervisor's; empty if not told")
    kernel: str
    kernel_version: str = Field("", description="Its build, as `uname -v` says it")
    open_files: tuple[int, int] | None = Field(
        None, description="Files that the process may have open: soft and hard limit"
    )
    operating_system: str = Field(description="In an image: the image's")
    libc: str
    python: str
    clock_source: str
    load_1min: float = Field(description="Load of the node as this process started")
    cpu: Cpu
    memory: Memory
    limits: Limits = Field(description="What the control groups allow")
    filesystems: tuple[Filesystem, ...]
    gpus: tuple[Gpu, ...] = ()
    gpu_reason: str = Field("", description="Why a GPU that is there is not described")
    slurm: dict[str, str] = Field(default_factory=dict)
    threads: dict[str, str] = Field(
        default_factory=dict, description="Environment that sets threads and devices"
    )
    image_sha256: str | None = Field(None, description="sha256 of the image's file")
    git_commit: str | None = Field(None, description="Commit of the code, where it was told")


def collect(paths: Sequence[Path]) -> dict[str, Any]:
    """Take the stamp as plain JSON values; see `take`."""
    return take(paths).model_dump(mode="json")


def take(paths: Iterable[Path] = ()) -> Stamp:
    """Take the stamp of this node and process; files of a folder and device share an entry."""
    cpu, memory = cpus.describe(), _memory()
    gpus, gpu_reason = _gpus()
    words = [cpu.model, f"{cpu.cores} cores", f"{memory.total_bytes / 2**30:.0f} GiB"]
    counts = Counter(gpu.name or "GPU" for gpu in gpus)
    maker = [kernel_text(_DMI / name) for name in ("sys_vendor", "product_name")]
    return Stamp(
        label=", ".join(words + [f"{count} x {name}" for name, count in counts.items()]),
        node=node_name(),
        machine=" ".join(filter(None, maker)),
        kernel=f"{platform.system()} {platform.release()}",
        kernel_version=platform.version(),
        open_files=resource.getrlimit(resource.RLIMIT_NOFILE),
        operating_system=_operating_system(),
        libc=_libc(),
        python=platform.python_version(),
        clock_source=kernel_text(
            Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        ),
        load_1min=_LOAD_AT_START,
        cpu=cpu,
        memory=memory,
        limits=cgroups.limits(),
        filesystems=tuple(filesystem_of(path) for path in _one_per_folder(paths)),
        gpus=gpus,
        gpu_reason=gpu_reason,
        slurm=_environment(SLURM_VARIABLES),
        threads=_environment(THREAD_VARIABLES),
        image_sha256=os.environ.get(IMAGE_VARIABLE),
        git_commit=os.environ.get(COMMIT_VARIABLE),
    )


def _environment(names: Iterable[str]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}


def _gpus() -> tuple[tuple[Gpu, ...], str]:
    if not gpu_present():
        return (), ""
    try:
        return describe_gpus(), ""
    except MissingPart as error:
        return (), str(error)


def _operating_system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return platform.platform(terse=True)


def _libc() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return " ".join(platform.libc_ver())


def _memory() -> Memory:
    import psutil

    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    pages = kernel_text(Path("/sys/kernel/mm/transparent_hugepage/enabled"))
    balancing = kernel_text(Path("/proc/sys/kernel/numa_balancing"))
    return Memory(
        total_bytes=memory.total,
        available_bytes=memory.available,
        used_bytes=memory.used,
        swap_total_bytes=swap.total,
        swap_used_bytes=swap.used,
        # The kernel lists all choices, with the chosen one in brackets.
        transparent_hugepages=pages.partition("[")[2].partition("]")[0],
        numa_balancing=None if not balancing else balancing != "0",
    )


def _one_per_folder(paths: Iterable[Path]) -> list[Path]:
    kept: dict[tuple[int | None, Path], Path] = {}
    for path in paths:
        try:
            device = path.stat().st_dev
        except OSError:
            device = None
        kept.setdefault((device, path.parent), path)
    return list(kept.values())

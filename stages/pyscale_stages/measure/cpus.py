"""The CPUs of this node, and those that a process may really use, which are seldom all."""

from __future__ import annotations

import os
import platform
import subprocess
from contextlib import suppress
from pathlib import Path

from pydantic import Field

from pyscale_stages.contract import Record
from pyscale_stages.measure import cgroups
from pyscale_stages.measure.binding import bound_to
from pyscale_stages.measure.cgroups import kernel_text

_SYSTEM = Path("/sys/devices/system")


class Cpu(Record):
    """The processors of a node, and this process's part of them."""

    model: str
    architecture: str
    sockets: int = Field(description="Packages online")
    cores: int = Field(description="Physical cores online")
    threads: int = Field(description="Hardware threads online")
    smt_active: bool | None = None
    numa_nodes: tuple[str, ...] = Field((), description="CPUs of each NUMA node, as `0-31`")
    caches: dict[str, str] = Field(
        default_factory=dict, description="Size and sharing of each cache of the first CPU"
    )
    current_mhz: float | None = Field(None, description="Of one CPU, at the moment of the stamp")
    max_mhz: float | None = None
    governors: tuple[str, ...] = Field((), description="Frequency governors of the usable CPUs")
    turbo: bool | None = Field(None, description="Whether clocks above the base are allowed")
    virtual: bool | None = Field(None, description="True on a virtual machine")
    affinity: tuple[int, ...] = Field(description="CPUs that the scheduler may put us on")
    usable: tuple[int, ...] = Field(description="CPUs that we may keep busy: `usable_cpus`")


def usable_cpus() -> list[int]:
    """CPUs that this process may keep busy, never none: each core once before any twice."""
    # The affinity mask, the quota of the control groups and what Slurm granted each set a bound.
    allowed = one_thread_per_core_first(affinity())
    bounds = [len(allowed)]
    quota = cgroups.limits().cpus
    if quota is not None:
        # Rounded down: one thread more than the quota allows would get all of them throttled.
        bounds.append(int(quota))
    granted = os.environ.get("SLURM_CPUS_PER_TASK") or os.environ.get("SLURM_CPUS_ON_NODE", "")
    if granted.isdigit():
        bounds.append(int(granted))
    return allowed[: max(1, min(bounds))]


def first_threads(cpus: list[int], folder: Path = _SYSTEM / "cpu") -> list[int]:
    """Keep the first of the CPUs that are hardware threads of one physical core."""
    first: dict[str, int] = {}
    for cpu in cpus:
        first.setdefault(_core_of(cpu, folder), cpu)
    return list(first.values())


def _core_of(cpu: int, folder: Path) -> str:
    """Name a physical core by the hardware threads that share it."""
    return kernel_text(folder / f"cpu{cpu}/topology/thread_siblings_list") or str(cpu)


def one_thread_per_core_first(cpus: list[int], folder: Path = _SYSTEM / "cpu") -> list[int]:
    """Order rising CPU numbers so that the hardware threads of one core lie far apart."""
    seen: dict[str, int] = {}
    rank = {}
    for cpu in cpus:
        core = _core_of(cpu, folder)
        rank[cpu] = seen[core] = seen.get(core, -1) + 1
    return sorted(cpus, key=lambda cpu: (rank[cpu], cpu))


def affinity() -> list[int]:
    """CPUs that the scheduler may put this process on, in rising order."""
    if bound := bound_to():
        return bound
    import psutil

    # Nothing tells there which hardware threads share a core, so each core counts once.
    return list(range(psutil.cpu_count(logical=False) or os.cpu_count() or 1))


def describe() -> Cpu:
    """Read what the kernel says about the processors, in a few milliseconds."""
    folders = sorted((_SYSTEM / "cpu").glob("cpu[0-9]*"))
    topology = [
        (package, kernel_text(folder / "topology/thread_siblings_list"))
        for folder in folders
        # A CPU that is offline has no topology.
        if (package := kernel_text(folder / "topology/physical_package_id"))
    ]
    first = _first_processor()
    usable = usable_cpus()
    frequency = _SYSTEM / f"cpu/cpu{usable[0]}/cpufreq"
    flags = first.get("flags", "").split()
    no_turbo = _switch(_SYSTEM / "cpu/intel_pstate/no_turbo")
    return Cpu(
        model=first.get("model name") or _arm_model(first) or _apple_model(),
        architecture=platform.machine(),
        sockets=len({package for package, _ in topology}) or 1,
        cores=len({core for _, core in topology}) or (os.cpu_count() or 1),
        threads=len(topology) or (os.cpu_count() or 1),
        smt_active=_switch(_SYSTEM / "cpu/smt/active"),
        numa_nodes=tuple(
            kernel_text(node / "cpulist") for node in sorted((_SYSTEM / "node").glob("node[0-9]*"))
        ),
        caches=_caches(_SYSTEM / "cpu/cpu0/cache"),
        current_mhz=_mhz(frequency / "scaling_cur_freq") or _float(first.get("cpu MHz", "")),
        max_mhz=_mhz(frequency / "cpuinfo_max_freq"),
        governors=tuple(
            sorted(
                {kernel_text(_SYSTEM / f"cpu/cpu{cpu}/cpufreq/scaling_governor") for cpu in usable}
                - {""}
            )
        ),
        # Intel's driver has a switch of its own, which says the opposite.
        turbo=_switch(_SYSTEM / "cpu/cpufreq/boost") if no_turbo is None else not no_turbo,
        # ARM names its flags otherwise, and so does not tell.
        virtual="hypervisor" in flags if flags else None,
        affinity=tuple(affinity()),
        usable=tuple(usable),
    )


def _first_processor() -> dict[str, str]:
    """First block of /proc/cpuinfo."""
    found = {}
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                key, colon, value = line.partition(":")
                if not colon:
                    # A blank line ends the block; reading on would interrupt every CPU of the node.
                    break
                found[key.strip()] = value.strip()
    except OSError:
        pass
    return found


def _arm_model(processor: dict[str, str]) -> str:
    """ARM's numbers for the maker and the core; it gives no name in words."""
    maker, part = processor.get("CPU implementer"), processor.get("CPU part")
    return f"ARM implementer {maker} part {part}" if maker and part else ""


def _apple_model() -> str:
    """What macOS calls the processor, else what little Python knows of it."""
    asked = ["sysctl", "-n", "machdep.cpu.brand_string"]
    with suppress(OSError):
        told = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
        if told.strip():
            return told.strip()
    return platform.processor()


def _caches(folder: Path) -> dict[str, str]:
    return {
        f"L{kernel_text(index / 'level')} {kernel_text(index / 'type').lower()}": (
            f"{kernel_text(index / 'size')} shared by CPUs {kernel_text(index / 'shared_cpu_list')}"
        )
        for index in sorted(folder.glob("index[0-9]*"))
    }


def _switch(file: Path) -> bool | None:
    return {"0": False, "1": True}.get(kernel_text(file))


def _mhz(file: Path) -> float | None:
    khz = _float(kernel_text(file))
    return None if khz is None else khz / 1000


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

"""Limits that control groups, version 1 or 2, put on this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from pyscale_stages.contract import Record
from pyscale_stages.errors import ResourceExhausted

GIB = 2**30
_UNLIMITED_BYTES = 1 << 60
"""Version 1 writes "no limit" as the largest multiple of a page, near 2**63."""


def kernel_text(file: Path) -> str:
    """Content of a file of the kernel, stripped; empty where the kernel has or shows none."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


class Limits(Record):
    """The tightest limits on the way from this process's group up to the root."""

    version: str = Field(description="`1`, `2`, `1+2` where both are mounted, or `none`")
    memory_bytes: int | None = Field(description="Memory limit; None is no limit")
    cpus: float | None = Field(description="CPU seconds per second; None is no quota")


def limits(proc: Path = Path("/proc/self")) -> Limits:
    """Read the limits of a process, whose folder below /proc says where to look."""
    unified, memory, cpu = [], [], []
    for kind, controllers, folders in _groups(proc):
        if kind == "cgroup2":
            unified += folders
        if "memory" in controllers:
            memory += folders
        if "cpu" in controllers:
            cpu += folders
    byte_limits = [
        *(_number(folder / "memory.max") for folder in unified),
        *(_number(folder / "memory.limit_in_bytes") for folder in memory),
    ]
    quotas = [
        *(_ratio(folder / "cpu.max") for folder in unified),
        *(_ratio(folder / "cpu.cfs_quota_us", folder / "cpu.cfs_period_us") for folder in cpu),
    ]
    versions = (["1"] if memory or cpu else []) + (["2"] if unified else [])
    return Limits(
        version="+".join(versions) or "none",
        memory_bytes=min((limit for limit in byte_limits if limit is not None), default=None),
        cpus=min((quota for quota in quotas if quota is not None), default=None),
    )


def usable_bytes() -> int:
    """Memory that this process can still have: of the machine, within its control group."""
    import psutil

    available = int(psutil.virtual_memory().available)
    limit = limits().memory_bytes
    return available if limit is None else min(available, limit)


def refuse_beyond_memory(least_bytes: int, what: str, remedy: str) -> None:
    """Refuse, in a sentence, what takes more memory than this process can have."""
    usable = usable_bytes()
    if least_bytes > usable:
        raise ResourceExhausted(
            f"{what} takes at least {least_bytes / GIB:.1f} GiB of memory, but this task can have "
            f"{usable / GIB:.1f} GiB: give it more, or {remedy}"
        )


def _groups(proc: Path) -> Iterator[tuple[str, set[str], list[Path]]]:
    """Kind, controllers and folders, from the process's own up to the mount, per hierarchy."""
    paths: dict[str, str] = {}
    for line in kernel_text(proc / "cgroup").splitlines():
        # A group's path may hold colons.
        _, controllers, path = line.split(":", 2)
        paths |= dict.fromkeys(controllers.split(","), path)
    for line in kernel_text(proc / "mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind not in {"cgroup", "cgroup2"}:
            continue
        # The only hierarchy of version 2 goes without a name in the list of controllers.
        here = set(paths) & (set(options.split(",")) if kind == "cgroup" else {""})
        if here:
            root, mount_point = before.split()[3:5]
            # Controllers that are mounted together share one path, so any of them tells it.
            yield kind, here, _upwards(Path(mount_point), root, paths[min(here)])


def _upwards(mount_point: Path, root: str, path: str) -> list[Path]:
    # In a container the path may count from the host's root, of which only `root` is mounted.
    inside = path.removeprefix(root) if root != "/" and path.startswith(root) else path
    folder = mount_point / inside.strip("/")
    if not folder.is_dir():
        folder = mount_point
    return [folder, *(parent for parent in folder.parents if parent.is_relative_to(mount_point))]


def _number(file: Path) -> int | None:
    text = kernel_text(file)
    return int(text) if text.isdigit() and int(text) < _UNLIMITED_BYTES else None


def _ratio(*files: Path) -> float | None:
    """Quota by period, from one file (version 2) or two."""
    fields = " ".join(map(kernel_text, files)).split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields) or fields[1] == "0":
        return None  # "max" in version 2, -1 in version 1
    return int(fields[0]) / int(fields[1])

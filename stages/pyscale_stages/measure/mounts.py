"""The file system that holds a path, without names of hosts or people."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import Field

from pyscale_stages.contract import Record
from pyscale_stages.measure.cgroups import kernel_text

# What shapes performance or meaning. Other options may hold user names, addresses and paths.
_OPTIONS = frozenset(
    "ro rw sync async dirsync atime noatime relatime strictatime nodiratime lazytime discard "  # noqa: SIM905
    "data barrier nobarrier commit delalloc nodelalloc journal_checksum stripe dax inode64 "
    "logbufs logbsize allocsize swidth sunit noquota usrquota prjquota largeio nolargeio "
    "compress compress-force ssd nossd autodefrag nodatacow space_cache "
    "vers nfsvers minorversion proto nconnect rsize wsize bsize hard soft timeo retrans "
    "ac noac cto nocto acregmin acregmax acdirmin acdirmax actimeo lookupcache local_lock "
    "nolock lock fsc cache sec rasize caps_max flock noflock localflock lazystatfs "
    "size huge nr_inodes redirect_dir metacopy index volatile xino max_read "
    "nosuid nodev noexec".split()
)


UNKNOWN = "unknown"
"""Type of a filesystem that the system does not tell."""
_MOUNTS = Path("/proc/self/mountinfo")


class Filesystem(Record):
    """What one path lies on."""

    path: Path
    fs_type: str = Field(description="Type as the kernel names it; `unknown` with a reason")
    device: str = Field("", description="Device under /dev, else `remote` or `none`")
    options: tuple[str, ...] = Field((), description="Mount options that shape performance")
    size_bytes: int | None = None
    free_bytes: int | None = None
    read_ahead_bytes: int | None = Field(None, description="Read-ahead of the backing device")
    rotational: bool | None = Field(
        None, description="The driver's word; a virtual disk may say True"
    )
    scheduler: str = Field("", description="I/O scheduler of the block device")
    reason: str = Field("", description="Why it is not known")


def filesystem_of(path: Path) -> Filesystem:
    """Describe what a path, or its nearest parent, lies on, by the mount that the kernel names."""
    try:
        existing = path.absolute()
        while not existing.exists():
            existing = existing.parent
        space = os.statvfs(existing)
        mounts = kernel_text(_MOUNTS)
        line = _mount_line(existing, mounts) if mounts else ""
    except OSError as error:
        return Filesystem(path=path, fs_type=UNKNOWN, reason=f"{error.strerror}")
    # Not f_bfree, which counts the blocks that are kept for root.
    size_bytes, free_bytes = (
        space.f_frsize * blocks for blocks in (space.f_blocks, space.f_bavail)
    )
    if not line:
        return Filesystem(
            path=path,
            fs_type=UNKNOWN,
            size_bytes=size_bytes,
            free_bytes=free_bytes,
            reason=f"this operating system has no {_MOUNTS}",
        )
    # Optional fields end at a lone hyphen, as proc_pid_mountinfo(5) says.
    before, _, after = line.partition(" - ")
    fields = before.split()
    fs_type, source, super_options = after.split(" ", 2)
    options = [*fields[5].split(","), *super_options.split(",")]
    number = fields[2]
    # Network file systems have a backing device without a block device.
    read_ahead_kib = kernel_text(Path(f"/sys/class/bdi/{number}/read_ahead_kb"))
    return Filesystem(
        path=path,
        fs_type=fs_type,
        device=_without_host(source),
        options=tuple(o for o in dict.fromkeys(options) if o.partition("=")[0] in _OPTIONS),
        size_bytes=size_bytes,
        free_bytes=free_bytes,
        read_ahead_bytes=int(read_ahead_kib) * 1024 if read_ahead_kib.isdigit() else None,
        rotational={"0": False, "1": True}.get(_queue(number, "rotational")),
        scheduler=_chosen(_queue(number, "scheduler")),
    )


def _mount_line(existing: Path, mounts: str) -> str:
    # The kernel tells the mount of an open file, and O_PATH opens even one that may not be read.
    descriptor = os.open(existing, os.O_PATH | os.O_CLOEXEC)
    try:
        info = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii")
    finally:
        os.close(descriptor)
    mount_id = next(line.split()[1] for line in info.splitlines() if line.startswith("mnt_id:"))
    for line in mounts.splitlines():
        if line.split(" ", 1)[0] == mount_id:
            return line
    raise OSError(0, "the mount is not in this process's table of mounts")


def _without_host(source: str) -> str:
    if source.startswith("/dev/"):
        return source
    return "remote" if ":" in source or source.startswith("//") else "none"


def _queue(number: str, name: str) -> str:
    device = Path(f"/sys/dev/block/{number}")
    # A partition has no queue of its own but its disk's, one folder up.
    return kernel_text(device / "queue" / name) or kernel_text(
        device.resolve().parent / "queue" / name
    )


def _chosen(alternatives: str) -> str:
    """Word in brackets, as in `none [mq-deadline]`."""
    return alternatives.partition("[")[2].partition("]")[0]

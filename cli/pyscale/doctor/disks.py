"""Checks of the folders that a run reads, writes or measures: filesystem, space, permissions."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shutil import disk_usage

from pyscale.doctor.findings import Finding, beside_the_point, judged, ok, problem, warning
from pyscale.doctor.subject import Subject
from pyscale_stages.atomic import naming
from pyscale_stages.machine.place import with_spare
from pyscale_stages.measure import pagecache
from pyscale_stages.measure.mounts import filesystem_of
from pyscale_stages.wording import size_in_words

NETWORK = {
    "nfs", "nfs4", "cifs", "smb3", "lustre", "beegfs", "gpfs", "ceph", "fuse.ceph", "9p",
    "fuse.sshfs", "afs", "panfs", "pvfs2", "glusterfs", "fuse.glusterfs", "fuse.beegfs",
}  # fmt: skip
"""Types of filesystems whose files a server holds, as the kernel names them."""
IN_MEMORY = {"tmpfs", "ramfs"}
FULL_DISK = "disk.room"
"""The check that finds too little room for what a run writes."""
LEAST_BYTES = 1 << 30
"""Room for the records, logs and compiled kernels of a small run."""
LEAST_INODES = 10_000
FILES_PER_TASK = 12
"""Files that a task leaves, with what submitit keeps."""
_TRIED_BYTES = 1 << 20


def disks(subject: Subject) -> Iterator[Finding]:
    """Try every folder that a run uses."""
    yield home(Path.home(), NETWORK)
    yield folder("runs", subject.runs_folder, "set runs_folder to another disk")
    yield folder("data", subject.data_folder, "set data_folder to another disk")
    if subject.runtime == "apptainer":
        yield folder("images", subject.images_folder, "set images_folder to another disk")
    yield scratch(Path(tempfile.gettempdir()))
    yield enough_files(subject.runs_folder, subject.tasks)
    yield page_cache("runs", subject.runs_folder, subject.cache)
    yield page_cache("data", subject.data_folder, subject.cache)


def folder(name: str, path: Path, otherwise: str) -> Finding:
    """Write into a folder, or into the nearest one that exists above it, and look at its disk.

    `otherwise`: what to do where it cannot be used.
    """
    check = f"disk.{name}"
    there = nearest(path)
    reason = refusal(there)
    if reason:
        return problem(check, f"{path} cannot be written: {reason}", otherwise)
    disk = filesystem_of(there)
    free_bytes = disk.free_bytes or 0
    sentence = f"{path} is on {_kind(disk.fs_type)} with {free_bytes / 2**30:.1f} GiB free"
    if free_bytes < LEAST_BYTES:
        return problem(check, sentence, f"free space there, or {otherwise}")
    doubt = (disk.fs_type in IN_MEMORY, ": its files take the node's memory", otherwise)
    return judged(check, sentence, doubt)


def home(path: Path, network: set[str]) -> Finding:
    """Write into the home folder, where libraries keep caches and locks."""
    reason = refusal(path)
    if reason:
        return warning(
            "disk.home",
            f"the home folder {path} cannot be written ({reason}): libraries keep caches, locks "
            "and weights there",
            "set HOME to a writable folder, and NUMBA_CACHE_DIR inside it",
        )
    fs_type = filesystem_of(path).fs_type
    said = f"the home folder {path} is on {_kind(fs_type)} and writable"
    if fs_type in network:
        said += "; tasks that start at once share it"
    return ok("disk.home", said)


def scratch(path: Path) -> Finding:
    """Write into the folder of temporary files."""
    found = folder("scratch", path, "set TMPDIR to another disk")
    if found.status == "problem" and "free" in found.sentence:
        # Only kernels and Java's small files go there: a run may do without much of it.
        return found.model_copy(
            update={"status": "warning", "remedy": "set TMPDIR to another disk"}
        )
    return found


def enough_files(path: Path, tasks: int) -> Finding:
    """Compare the files that a disk has room for with those of the run."""
    there, check = nearest(path), "disk.files"
    status = os.statvfs(there)
    needed = max(LEAST_INODES, tasks * FILES_PER_TASK)
    if status.f_files == 0:
        return ok(check, f"the disk of {path} does not count its files")
    sentence = f"the disk of {path} has room for {status.f_favail} more files"
    if status.f_favail < needed:
        return problem(
            check, f"{sentence}, and a run needs {needed}", "delete files there, or set runs_folder"
        )
    return ok(check, sentence)


def page_cache(name: str, path: Path, asked: str) -> Finding:
    """Find out by a file of its own which states of the page cache can be had on a disk."""
    check, there = f"disk.page_cache.{name}", nearest(path)
    if refusal(there):
        return beside_the_point(check, f"{path} is not writable, so its page cache was not tried")
    with naming(there), tempfile.NamedTemporaryFile(prefix=".pyscale-doctor-", dir=there) as file:
        file.write(os.urandom(_TRIED_BYTES))
        file.flush()
        eviction = pagecache.evict(Path(file.name))
    why = f" ({eviction.reason})" if eviction.reason else ""
    if eviction.state == "verified-cold":
        return ok(
            check,
            f"files in {path} can be cold (proved by {eviction.after.method}), warm or asis{why}",
        )
    sentence = f"files in {path} cannot be made cold{why}"
    if eviction.state == "evicted-unverified":
        sentence = f"files in {path} can be evicted, but a cold cache cannot be proved{why}"
    if asked == "cold":
        return warning(check, sentence, "use --cache warm or --cache asis")
    return ok(check, f"{sentence}; --cache {asked} does not need it")


def refusal(path: Path) -> str:
    """Why a folder cannot be written, by really writing a file there; empty where it can."""
    try:
        with tempfile.NamedTemporaryFile(prefix=".pyscale-doctor-", dir=path) as file:
            file.write(b"\0" * 4096)
            file.flush()
            # Quotas and network filesystems refuse here, or not at all.
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return "it is full, or this user's quota is used up"
        return (error.strerror or type(error).__name__).lower()
    return ""


def nearest(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    while not path.exists():
        path = path.parent
    return path


def _kind(fs_type: str) -> str:
    return f"{fs_type}, a network filesystem," if fs_type in NETWORK else fs_type


PLACE_CHECK = "disk.place"
OTHER_PLACE = "give another folder by --set path=DIR"


def place(subject: Subject) -> Iterator[Finding]:
    """Look at the folder that is measured, where one is; the folder of the runs is made later."""
    if subject.place is None:
        return
    path = subject.place
    if path != subject.runs_folder and not path.is_dir():
        what = "is not a folder" if path.exists() else "does not exist"
        yield problem(PLACE_CHECK, f"the folder to measure, {path}, {what}", OTHER_PLACE)
        return
    there = nearest(path)
    needed_bytes = written_bytes(subject)
    free_bytes = disk_usage(there).free
    if free_bytes < needed_bytes:
        yield problem(
            FULL_DISK,
            f"the tests write {size_in_words(needed_bytes)} into {path}, but its disk has "
            f"{size_in_words(free_bytes)} left",
            "free space there, give another folder by --set path=DIR, or make the tests smaller by "
            "stages.storage and stages.decompress in pyscale.toml",
        )
        return
    reason = refusal(there)
    if reason:
        yield problem(
            PLACE_CHECK, f"the folder to measure, {path}, cannot be written: {reason}", OTHER_PLACE
        )
        return
    fs_type = filesystem_of(there).fs_type
    yield ok(
        PLACE_CHECK,
        f"{path} is on {fs_type} and has room for the {size_in_words(needed_bytes)} of the tests",
    )


def written_bytes(subject: Subject) -> int:
    """Room that is wanted in the folder: what all workers of one entry write at once."""
    # Beside a suite of something else one worker measures the machine.
    alone = all(entry.definition.work == "each" for entry in subject.entries)
    workers = subject.workers if alone else 1
    return workers * with_spare(max((entry.room_bytes for entry in subject.entries), default=0))

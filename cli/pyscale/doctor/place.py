"""Checks of the folder whose storage is measured."""

from __future__ import annotations

from collections.abc import Iterator
from shutil import disk_usage

from pyscale.doctor.disks import FULL_DISK, nearest, refusal
from pyscale.doctor.findings import Finding, ok, problem
from pyscale.doctor.subject import Subject
from pyscale_stages.machine.place import with_spare
from pyscale_stages.measure.mounts import filesystem_of

CHECK = "disk.place"
OTHERWISE = "give another folder by --path"


def place(subject: Subject) -> Iterator[Finding]:
    """Look at the folder that is measured, where one is; the folder of the runs is made later."""
    if subject.place is None:
        return
    path = subject.place
    if path != subject.runs_folder and not path.is_dir():
        what = "is not a folder" if path.exists() else "does not exist"
        yield problem(CHECK, f"the folder to measure, {path}, {what}", OTHERWISE)
        return
    there = nearest(path)
    needed_bytes = written_bytes(subject)
    free_bytes = disk_usage(there).free
    if free_bytes < needed_bytes:
        yield problem(
            FULL_DISK,
            f"the tests write {needed_bytes / 1e9:.3g} GB into {path}, but its disk has "
            f"{free_bytes / 1e9:.3g} GB left",
            "free space there, give another folder by --path, or make the tests smaller by "
            "stages.storage and stages.decompress in pyscale.toml",
        )
        return
    reason = refusal(there)
    if reason:
        yield problem(
            CHECK, f"the folder to measure, {path}, cannot be written: {reason}", OTHERWISE
        )
        return
    fs_type = filesystem_of(there).fs_type
    yield ok(
        CHECK,
        f"{path} is on {fs_type} and has room for the {needed_bytes / 1e9:.3g} GB of the tests",
        value=fs_type,
    )


def written_bytes(subject: Subject) -> int:
    """Room that is wanted in the folder: what all workers of one entry write at once."""
    # Beside a suite of something else one worker measures the machine.
    alone = all(entry.definition.is_of_machine for entry in subject.entries)
    workers = subject.workers if alone else 1
    return workers * with_spare(max((entry.room_bytes for entry in subject.entries), default=0))

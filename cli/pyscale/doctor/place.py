"""The folder whose storage is measured: whether it can take what the tests write into it."""

from __future__ import annotations

from collections.abc import Iterator
from shutil import disk_usage

from pyscale.doctor.disks import FULL_DISK, nearest, refusal
from pyscale.doctor.findings import Finding, ok, problem
from pyscale.doctor.subject import Entry, Subject
from pyscale_stages.measure.mounts import filesystem_of

CHECK = "disk.place"
OTHERWISE = "give another folder by --path"
_FLOAT_BYTES = 4


def place(subject: Subject) -> Iterator[Finding]:
    """Look at the folder that is measured, where one is; the folder of the runs is made later."""
    if subject.place is None:
        return
    path = subject.place
    if path != subject.runs_folder and not path.is_dir():
        what = "is no folder" if path.exists() else "does not exist"
        yield problem(CHECK, f"{path}, which is to be measured, {what}", OTHERWISE)
        return
    there = nearest(path)
    needed_bytes = written_bytes(subject)
    free_bytes = disk_usage(there).free
    if free_bytes < needed_bytes:
        yield problem(
            FULL_DISK,
            f"the tests write {needed_bytes / 1e9:.3g} GB into {path}, and its disk has "
            f"{free_bytes / 1e9:.3g} GB left",
            "free space there, give another folder by --path, or make the tests smaller by "
            "stages.storage and stages.decompress in pyscale.toml",
        )
        return
    reason = refusal(there)
    if reason:
        yield problem(
            CHECK, f"{path}, which is to be measured, cannot be written: {reason}", OTHERWISE
        )
        return
    fs_type = filesystem_of(there).fs_type
    yield ok(
        CHECK,
        f"{path} is on {fs_type} and has room for the {needed_bytes / 1e9:.3g} GB of the tests",
        value=fs_type,
    )


def written_bytes(subject: Subject) -> int:
    """Most that lies in the folder at once: what all workers of one entry write."""
    # Beside a movie one worker measures the machine.
    workers = 1 if subject.reads_movie else subject.workers
    of_machine = (entry for entry in subject.entries if entry.definition.is_of_machine)
    return workers * max(map(_written_by, of_machine), default=0)


def _written_by(entry: Entry) -> int:
    """Most that one worker of an entry writes into the place, as its parameters say."""
    # Other suites have no use for what these import.
    from pyscale_stages.decompress.codecs import CODECS
    from pyscale_stages.decompress.params import DecompressParams
    from pyscale_stages.kernels.params import KernelParams
    from pyscale_stages.storage.movies import most_bytes
    from pyscale_stages.storage.params import StorageParams

    params = entry.definition.params.model_validate(entry.params)
    if isinstance(params, StorageParams):
        small_bytes = params.small_files * params.small_file_bytes
        return params.stack_bytes + most_bytes(params) + small_bytes
    if isinstance(params, DecompressParams):
        return sum(
            params.camera(name).pixels * CODECS[name].most_bytes_per_px for name in params.codecs
        )
    if isinstance(params, KernelParams):
        return params.particles * params.particle_px**2 * _FLOAT_BYTES
    return 0

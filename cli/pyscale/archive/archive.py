"""One zip of a run: its records, and tables, report and RO-Crate made anew from them."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from rich.progress import track

from pyscale.archive.masking import masked_name, masked_record
from pyscale.archive.names import mask_of
from pyscale.archive.records import images_lock, read_bytes, record_files
from pyscale.console import Console
from pyscale.images.lockfile import LOCK_NAME
from pyscale.store.folder import RunFolder
from pyscale_stages.atomic import atomic_path

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can hold: the same content has to be the same bytes."""
_READABLE = 0o100644 << 16
_UNIX = 3

MakeReport = Callable[[RunFolder], object]
"""Makes tables, manifest, report and RO-Crate of a run, in its folder."""


def archive(run: RunFolder, out: Path, make_report: MakeReport, *, masked: bool) -> Path:
    """Write one zip of a run, without the outputs of its stages.

    Unpacked into a folder it is a run that pyscale reads, and an RO-Crate. Tables and report are
    made anew from the records in it: where those are masked, nothing else of the run gets in.

    Parameters
    ----------
    run : RunFolder
        It is only read, and may be under way.
    out : Path
        Folder for the zip; made if absent.
    make_report : callable
        Makes tables, manifest, report and RO-Crate of the copy.
    masked : bool
        Whether paths and the names of hosts, people and accounts are replaced, each by the same
        word everywhere.

    Returns
    -------
    Path
        The zip, named by the run; it appears whole or not at all.

    Raises
    ------
    UserError
        If a record cannot be read; of a full disk the OSError tells.
    """
    with tempfile.TemporaryDirectory(prefix="pyscale-archive-") as scratch:
        # The folder is called as the run is, for a report says the name of its run.
        folder = Path(scratch) / run.plan.run_id
        copy_records(run, folder, masked=masked)
        copy = RunFolder(folder)
        make_report(copy)
        final = out / f"{run.plan.run_id}{'-masked' if masked else ''}.zip"
        _write_zip(folder, final)
    return final


def copy_records(run: RunFolder, folder: Path, *, masked: bool) -> None:
    """Copy what a run recorded into a new folder, and mask it where that is asked for."""
    names = list(record_files(run))
    mask = mask_of(run, names) if masked else None
    files = {name: run.path / name for name in names}
    lock = images_lock(run.path)
    if lock is not None:
        files[LOCK_NAME] = lock
    console = Console(stderr=True)
    for name, source in track(
        files.items(),
        "reading records",
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ):
        content = read_bytes(source)
        if content is None:
            continue
        if mask is not None:
            content = masked_record(mask, name, content)
        target = folder / (name if mask is None else masked_name(mask, name))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _write_zip(folder: Path, final: Path) -> None:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    with (
        atomic_path(final) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for file in files:
            member = zipfile.ZipInfo(file.relative_to(folder).as_posix(), _EPOCH)
            member.external_attr, member.create_system = _READABLE, _UNIX
            member.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(member, file.read_bytes())

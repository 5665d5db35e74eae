"""One zip of a run: its records, and tables, report and RO-Crate made anew from them."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from pyscale.console import talk
from pyscale.errors import refused_by_disk
from pyscale.store.folder import PLAN_FILE, RunFolder
from pyscale.store.provenance import PROVENANCE_FILE
from pyscale.store.records import (
    CACHE_FILE,
    EXIT_FILE,
    LAUNCH_FILE,
    NODE_FILE,
    ORDER_FILE,
    PARAMS_FILE,
    RESULT_FILE,
    SPEC_FILE,
    SURROUNDINGS_FILE,
    WITHDRAWN_FILE,
)
from pyscale_stages.atomic import atomic_path

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can hold: the same content has to be the same bytes."""
# A member made on Unix, which is 3, has its mode in the upper half of its attributes.
_READABLE = 0o100644 << 16
_UNIX = 3

MakeReport = Callable[[RunFolder], object]
"""Makes tables, manifest, report and RO-Crate of a run, in its folder."""


def archive(run: RunFolder, out: Path, make_report: MakeReport) -> Path:
    """Write one zip of a run, named by it, without the outputs of its stages.

    Unpacked it is a run that pyscale reads, and an RO-Crate. Tables, report and crate are made anew
    from its records, so nothing else of the run gets in. The run is only read, and may be under
    way. UserError where a record cannot be read; OSError where the disk is full.
    """
    with tempfile.TemporaryDirectory(prefix="pyscale-archive-") as scratch:
        # The folder is called as the run is, for a report says the name of its run.
        folder = Path(scratch) / run.plan.run_id
        copy_records(run, folder)
        copy = RunFolder(folder)
        make_report(copy)
        final = out / f"{run.plan.run_id}.zip"
        _write_zip(folder, final)
    return final


def copy_records(run: RunFolder, folder: Path) -> None:
    """Copy what a run recorded into a new folder."""
    again = "so the archive would be incomplete: make it readable, and archive the run again"
    for name in record_files(run):
        source, target = run.path / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        # A run under way may just have put the folder of a record aside.
        with (
            refused_by_disk(f"{source} cannot be read ({{why}}), {again}"),
            suppress(FileNotFoundError),
        ):
            target.write_bytes(source.read_bytes())


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


_RECORDS = (
    *(SPEC_FILE, PARAMS_FILE, ORDER_FILE, WITHDRAWN_FILE, LAUNCH_FILE, EXIT_FILE, RESULT_FILE),
    *(CACHE_FILE, SURROUNDINGS_FILE, "stdout", "stderr"),
)
_PATTERNS = (NODE_FILE.format(node="*"),)
_OUTPUT = "out"


def record_files(run: RunFolder) -> Iterator[str]:
    """Names of a run's records below its folder, in order; links are left out, and named."""
    yield from (PLAN_FILE, PROVENANCE_FILE, run.journal_file.name)
    tasks = run.path / "tasks"
    trials = {trial.id for trial in run.plan.trials}
    for folder, subfolders, files in os.walk(tasks):
        inside = Path(folder)
        for name in sorted({*subfolders, *files}):
            if (inside / name).is_symlink():
                talk(f"{inside / name} is a link and is left out of the archive")
        subfolders[:] = sorted(
            name
            for name in subfolders
            # An earlier attempt is called as its trial is, with more after a dot.
            if (name.partition(".")[0] in trials if inside == tasks else name != _OUTPUT)
        )
        for name in sorted(files):
            if _is_record(inside / name):
                # `tasks` may itself be a link to a larger disk.
                yield (Path("tasks") / inside.relative_to(tasks) / name).as_posix()


def _is_record(path: Path) -> bool:
    known = path.name in _RECORDS or any(path.match(pattern) for pattern in _PATTERNS)
    return known and path.is_file() and not path.is_symlink()

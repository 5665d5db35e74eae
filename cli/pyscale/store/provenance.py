"""Inputs and code of a run, frozen when it was made."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

from pydantic import Field, ValidationError

from pyscale import DISTRIBUTION
from pyscale.errors import UserError
from pyscale.processes import ran
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.framefiles import files_of
from pyscale_stages.hashing import sha256_of
from pyscale_stages.reading import Reading

PROVENANCE_FILE = "provenance.json"
WHY_UNREADABLE = f"it is damaged, or another pyscale wrote it, which {PROVENANCE_FILE} names"
_CHECKOUT = Path(__file__).resolve().parents[3]


class InputFile(Record):
    """One file of the dataset."""

    name: str = Field(description="Below the folder that is the dataset, where it is one")
    size_bytes: int
    modified_ns: int = Field(description="Time of its last change, as the filesystem keeps it")
    sha256: str


class ImageFile(Record):
    """One image of a run."""

    name: str
    path: Path = Field(description="The SIF file")
    size_bytes: int
    modified_ns: int = Field(description="Time of its last change, as the filesystem keeps it")
    sha256: str = Field(description="Of all its bytes")
    locked: bool = Field(description="Whether images.lock named this sha256 as the run began")
    git_commit: str | None = Field(description="Of the stage code inside, where it is known")
    labels: dict[str, str] = Field(description="What the image says of itself")


class Containers(Record):
    """What a run's containers were made with."""

    engine: str | None = Field(
        description="Container program and version, where the run began; None where nodes alone "
        "have it"
    )
    images: tuple[ImageFile, ...]


class Provenance(Record):
    """Origin of a run."""

    pyscale_version: str
    git_commit: str | None = Field(description="Of the checkout that the code ran from, if any")
    git_dirty: bool | None = Field(description="Whether that checkout had uncommitted changes")
    python_version: str
    input_files: tuple[InputFile, ...]
    truth_files: tuple[InputFile, ...] = Field((), description="What outputs were judged by")
    containers: Containers | None = Field(None, description="Absent for a native run")


def write_provenance(
    run: Path,
    movies: Mapping[str, Path],
    containers: Containers | None = None,
    truths: Mapping[str, Path] | None = None,
    readings: Mapping[str, Reading] | None = None,
) -> None:
    """Freeze the provenance of a new run that reads these datasets, by their names' prefixes.

    `readings`: what of those that are movies is read.
    """
    changes = _git("status", "--porcelain")
    provenance = Provenance(
        pyscale_version=version(DISTRIBUTION),
        git_commit=code_commit(),
        git_dirty=None if changes is None else bool(changes),
        python_version=sys.version.split()[0],
        input_files=_described(movies, readings or {}),
        truth_files=_described(truths or {}, {}),
        containers=containers,
    )
    write_atomically(run / PROVENANCE_FILE, provenance.model_dump_json(indent=1) + "\n")


def code_commit() -> str | None:
    """Commit of the code that runs, where it is told or this is a checkout."""
    return os.environ.get("PYSCALE_GIT_COMMIT") or _git("rev-parse", "HEAD")


def read_provenance(run: Path) -> Provenance:
    """Read the provenance of a run; UserError where it is missing or unreadable."""
    try:
        return Provenance.model_validate_json((run / PROVENANCE_FILE).read_bytes())
    except (OSError, ValidationError) as error:
        raise UserError(
            f"{run} does not record what it was measured with ({PROVENANCE_FILE} is missing or "
            "unreadable there): measure it again with this pyscale"
        ) from error


def changed_code(run: Path) -> str | None:
    """Say in a sentence that the code is not what a run began with; None where it is."""
    began, now = read_provenance(run), (version(DISTRIBUTION), code_commit())
    then = (began.pyscale_version, began.git_commit)
    if then == now:
        return None
    said = [f"{release}{f' ({commit[:12]})' if commit else ''}" for release, commit in (then, now)]
    return (
        f"the run {run.name} began with pyscale {said[0]}, and this is {said[1]}: its report names "
        "the first alone; start a new run where the stages have changed"
    )


def refuse_changed_input(
    run: Path, movies: Mapping[str, Path], readings: Mapping[str, Reading] | None = None
) -> None:
    """Raise where a file of a dataset is gone, new or changed since the run began.

    One with another time of change, such as a copy that was restored, is read again.
    """
    origin = read_provenance(run)
    known = {file.name: file for file in (*origin.input_files, *origin.truth_files)}
    there = {folder: movie for folder, movie in movies.items() if movie.exists()}
    present = dict(_named_files(there, readings or {}))
    for name in sorted(known.keys() | present.keys()):
        before, now = known.get(name), present.get(name)
        if before is None or now is None:
            what = "is new" if before is None else "is gone"
        elif not _is_same(before, now):
            what = "has changed"
        else:
            continue
        raise UserError(
            f"{name} of {' and '.join(map(str, movies.values()))} {what} since the run "
            f"{run.name} began: restore the dataset, or start a new run"
        )


def _is_same(before: InputFile, file: Path) -> bool:
    now = file.stat()
    if now.st_size != before.size_bytes:
        return False
    return now.st_mtime_ns == before.modified_ns or sha256_of(file) == before.sha256


def _named_files(
    datasets: Mapping[str, Path], readings: Mapping[str, Reading]
) -> Iterator[tuple[str, Path]]:
    """Files of datasets by what they are called: chunks of several images have the same names."""
    for folder, dataset in datasets.items():
        for file in files_of(dataset, readings.get(folder)):
            below = file.relative_to(dataset if dataset.is_dir() else dataset.parent)
            yield (folder / below).as_posix(), file


def _described(
    datasets: Mapping[str, Path], readings: Mapping[str, Reading]
) -> tuple[InputFile, ...]:
    return tuple(
        InputFile(
            name=name,
            size_bytes=(stat := file.stat()).st_size,
            modified_ns=stat.st_mtime_ns,
            sha256=sha256_of(file),
        )
        for name, file in _named_files(datasets, readings)
    )


def _git(*arguments: str) -> str | None:
    """Ask git about this code's checkout; None for an installed wheel."""
    # Of a wheel git would tell the commit of any repository that it is installed in.
    if not (_CHECKOUT / ".git").exists():
        return None
    try:
        answer = ran(["git", "-C", str(_CHECKOUT), *arguments])
    except OSError:
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None

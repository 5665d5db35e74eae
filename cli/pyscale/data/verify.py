"""A dataset's place under the data folder, and its files compared with sizes and checksums."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from pyscale.console import Advance, bar
from pyscale.data.registry import (
    FILES,
    READS,
    Dataset,
    MadeKind,
    Registry,
    Sha256,
    made_by,
)
from pyscale.errors import UserError, refused_by_disk
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.framefiles import files_in
from pyscale_stages.hashing import fingerprint_of, sha256_of


def data_errors_explained(data_root: Path) -> AbstractContextManager[None]:
    """Turn what the disk refuses inside the block into a UserError; a full one passes."""
    return refused_by_disk(
        f"{data_root} cannot be used ({{why}}): change its permissions, or choose another "
        "--data-folder"
    )


class KnownFile(Record):
    """One file and what it must be."""

    path: str = Field(description="Path inside the folder")
    size_bytes: int = Field(ge=0)
    sha256: Sha256


class Contents(Record):
    """All files of a dataset, as they were fetched or made."""

    origin_sha256: Sha256 | None = Field(
        None, description="Of the checksums that the registry publishes; None where it was made"
    )
    files: tuple[KnownFile, ...]
    fingerprint: Sha256 | None = Field(
        None, description="Of all sizes and of samples of some files; what each use compares"
    )


def record_contents(folder: Path, dataset: Dataset | None) -> Contents:
    """Checksum every file of a dataset and write beside its folder what it holds."""
    names = None if dataset is None else {file.local_name for file in dataset.files}
    paths = [
        path
        for path in sorted(folder.rglob("*"))
        # Of a folder that was fetched into, the user's own files are no part.
        if path.is_file() and (names is None or path.relative_to(folder).parts[0] in names)
    ]
    with bar(f"check {folder.name}", None) as advance:
        contents = Contents(
            origin_sha256=None if dataset is None else dataset.origin_sha256,
            files=tuple(
                KnownFile(
                    path=path.relative_to(folder).as_posix(),
                    size_bytes=path.stat().st_size,
                    sha256=sha256_of(path, advance),
                )
                for path in paths
            ),
            fingerprint=fingerprint_of(paths),
        )
    write_atomically(_contents_file(folder), contents.model_dump_json(indent=1) + "\n")
    return contents


def read_contents(folder: Path) -> Contents | None:
    """Read what a folder must hold; None where that is not known, or the record is damaged."""
    try:
        return Contents.model_validate_json(_contents_file(folder).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValidationError):
        return None


def _contents_file(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.contents.json")


State = Literal["ok", "missing", "changed", "unverified"]


class FileState(Record):
    """What became of one file."""

    dataset: str
    file: str = Field(description="Path inside the dataset's folder")
    state: State = Field(description="unverified: it is there, but no checksum is known")


def verify_dataset(name: str, dataset: Dataset | None, data_root: Path) -> list[FileState]:
    """Checksum every file of a dataset of the registry, or of the user's own (None)."""
    folder = data_root / name
    size_bytes = None if dataset is None else dataset.size_bytes
    with data_errors_explained(data_root), bar(f"check {name}", size_bytes) as advance:
        contents = _expected(folder, dataset)
        if contents is None:
            state: State = "unverified" if _holds_files(folder) else "missing"
            return [FileState(dataset=name, file=".", state=state)]
        return [
            FileState(dataset=name, file=file.path, state=_state(folder, file, advance))
            for file in contents.files
        ]


def _expected(folder: Path, dataset: Dataset | None) -> Contents | None:
    """What a dataset's folder must hold, as recorded; else as published, where archives are not."""
    recorded = read_contents(folder)
    if dataset is None or dataset.made is not None:
        return recorded
    if recorded is not None and recorded.origin_sha256 == dataset.origin_sha256:
        return recorded
    published = tuple(
        KnownFile(path=file.name, size_bytes=file.size_bytes, sha256=file.sha256)
        for file in dataset.files
        if file.size_bytes is not None and file.sha256 is not None and not file.unpack
    )
    return Contents(files=published) if len(published) == len(dataset.files) else None


def _holds_files(folder: Path) -> bool:
    return folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir())


def _state(folder: Path, file: KnownFile, advance: Advance | None) -> State:
    """State of a file; without `advance` by its size alone."""
    path = folder / file.path
    if not path.is_file():
        return "missing"
    # A wrong size says enough: there is no need to read the file.
    if path.stat().st_size != file.size_bytes:
        return "changed"
    return "ok" if advance is None or sha256_of(path, advance) == file.sha256 else "changed"


Presence = Literal["here", "partly", "changed", "absent"]
"""changed: a file has another size or other bytes than it must, or other parameters made it."""


def dataset_path(name_or_path: str, registry: Registry, data_root: Path) -> Path | None:
    """Path of the movie or slides that a name or path stands for; None where it is not there.

    A name of the registry comes first, then one of synthetic data, then a path of the user's
    own; a file that is named like a dataset is meant by `./NAME`. Looks at names, sizes and samples
    only: reading the files would warm the page cache that a run is about to measure. NAME/FILE is
    one file of a dataset, as of a set of images.
    """
    name, inside = name_and_file(name_or_path, registry)
    dataset = registry.datasets.get(name)
    if dataset is not None:
        if presence(name, dataset, data_root) != "here":
            return None
        movie = data_root / name / dataset.movie
        return _file_of(name, movie, inside) if inside else movie
    kind = synthetic_kinds(registry, data_root).get(name_or_path)
    if kind is not None:
        return data_root / name_or_path / READS[kind]
    path = Path(name_or_path).expanduser()
    return path if path.exists() else None


def name_and_file(data: str, registry: Registry) -> tuple[str, str]:
    """Name of a dataset and of a file in it, or all of the text and nothing."""
    name, _, inside = data.partition("/")
    is_inside = data not in registry.datasets and name in registry.datasets and inside
    return (name, inside) if is_inside else (data, "")


def _file_of(name: str, movie: Path, inside: str) -> Path:
    """A file of a dataset, whose movie is a folder or lies beside it."""
    folder = movie if movie.is_dir() else movie.parent
    path = folder / inside
    if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
        return path
    files = [file.name for file in files_in(folder)]
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    raise UserError(
        f"{name} has no file {inside}: it holds {', '.join(files[:3])}{more} (in {folder})"
    )


def presence(name: str, dataset: Dataset, data_root: Path) -> Presence:
    """How much of a dataset is there, by names, sizes and samples."""
    folder = data_root / name
    with data_errors_explained(data_root):
        if dataset.made is not None and folder.exists() and made_by(folder) != dataset.made:
            return "changed"
        contents = _expected(folder, dataset)
        if contents is None:
            # One that was made, and whose maker was stopped before its checksums were known.
            return "partly" if _holds_files(folder) else "absent"
        found = {_state(folder, file, None) for file in contents.files}
        if "changed" in found:
            return "changed"
        if found != {"ok"}:
            return "absent" if found == {"missing"} else "partly"
        paths = [folder / file.path for file in contents.files]
        if contents.fingerprint not in {None, fingerprint_of(paths)}:
            return "changed"
        return "here"


def synthetic_kinds(registry: Registry, data_root: Path) -> dict[str, MadeKind]:
    """Kind of each of the user's own synthetic data in a data folder, by its name, sorted."""
    with data_errors_explained(data_root):
        found = {
            path.parent.name: kind
            for kind, params_file in FILES.items()
            # Hidden folders are not whole yet, or are about to be removed.
            for path in data_root.glob(f"[!.]*/{params_file}")
        }
    return {name: found[name] for name in sorted(found.keys() - registry.datasets.keys())}

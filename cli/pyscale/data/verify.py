"""A dataset's place under the data folder, and its files held against sizes and checksums."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from pyscale.data.progress import Advance, Report
from pyscale.data.registry import (
    FILES,
    READS,
    Dataset,
    MadeKind,
    Registry,
    RemoteFile,
    Sha256,
    made_by,
)
from pyscale.errors import A_FILE, FULL, READ_ONLY, Sayings, UserError, disk_errors_explained
from pyscale.filelocks import file_lock
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.hashing import sha256_of
from pyscale_stages.wording import first_problem

_OTHER = "choose another --data-folder"
_REFUSALS: Sayings = (
    (
        FULL,
        UserError,
        "the disk of {folder} is full: free space and run the same command again (it keeps what "
        f"has arrived), or {_OTHER}",
    ),
    (
        READ_ONLY,
        UserError,
        "{where} is not readable and writable for this user: change its permissions, or " + _OTHER,
    ),
    (
        A_FILE,
        UserError,
        "{where} is a file, but a folder is needed there: remove it, or " + _OTHER,
    ),
    ("No such file", UserError, "{where} does not exist and cannot be made: " + _OTHER),
)


def data_errors_explained(data_root: Path) -> AbstractContextManager[None]:
    """Turn what the disk refuses inside the block into a UserError."""
    return disk_errors_explained(data_root, _REFUSALS)


def refuse_file(data_root: Path) -> None:
    """Raise where a data folder is no folder; it need not exist yet."""
    with data_errors_explained(data_root):
        if data_root.exists() and not data_root.is_dir():
            raise UserError(f"{data_root} is a file: name a folder by --data-folder")


def require_space(folder: Path, n_bytes: int, what: str) -> None:
    """Raise before anything is written where the disk has too little space."""
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise UserError(
            f"the disk of {folder} has {free} bytes left, but {n_bytes} are needed for {what}: "
            "free space, or choose another --data-folder"
        )


class KnownFile(Record):
    """One file and what it must be."""

    path: str = Field(description="Path inside the folder")
    size_bytes: int = Field(ge=0)
    sha256: Sha256


class Contents(Record):
    """All files of a folder that was unpacked or generated."""

    origin_sha256: Sha256 | None = Field(None, description="Archive that the files come from")
    files: tuple[KnownFile, ...]


def survey(folder: Path, advance: Advance, origin_sha256: str | None = None) -> Contents:
    """Checksum every file below a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return Contents(
        origin_sha256=origin_sha256,
        files=tuple(
            KnownFile(
                path=path.relative_to(folder).as_posix(),
                size_bytes=path.stat().st_size,
                sha256=sha256_of(path, advance),
            )
            for path in paths
        ),
    )


def write_contents(folder: Path, contents: Contents) -> None:
    """Write beside a folder what it holds."""
    write_atomically(_contents_file(folder), contents.model_dump_json(indent=1) + "\n")


def read_contents(folder: Path) -> Contents | None:
    """Read what a folder must hold; None where that is not known, or the record is damaged."""
    try:
        return Contents.model_validate_json(_contents_file(folder).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValidationError):
        return None


def _contents_file(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.contents.json")


TRUST_FILE = "trusted.json"


class Trust(Record):
    """Checksums that the user accepted, by the address of the file at its source."""

    sha256: dict[str, Sha256] = Field(default_factory=dict)


def read_trust(data_root: Path) -> Trust:
    """Read the trust file of a data folder; an absent file trusts nothing."""
    path = data_root / TRUST_FILE
    try:
        return Trust.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Trust()
    except ValidationError as error:
        raise UserError(
            f"{path} is damaged ({first_problem(error, Trust)}): restore it, or remove it "
            "and fetch with --trust-first-download again"
        ) from error


def add_trust(data_root: Path, address: str, sha256: str) -> None:
    """Record what was first seen at an address, beside what others record meanwhile."""
    with file_lock(data_root / f".{TRUST_FILE}.lock"):
        known = read_trust(data_root).sha256
        trust = Trust(sha256={**known, address: sha256})
        write_atomically(data_root / TRUST_FILE, trust.model_dump_json(indent=2) + "\n")


State = Literal["ok", "missing", "changed", "unverified"]


class FileState(Record):
    """What became of one file."""

    dataset: str
    file: str = Field(description="Path inside the dataset's folder")
    state: State = Field(description="unverified: it is there, but no checksum is known")


def verify_dataset(
    name: str, dataset: Dataset | None, data_root: Path, report: Report
) -> list[FileState]:
    """Checksum every file of a dataset of the registry, or of the user's own (None)."""
    trust = read_trust(data_root) if dataset is not None and dataset.files else Trust()
    size_bytes = None if dataset is None else dataset.size_bytes
    with data_errors_explained(data_root), report.bar(name, size_bytes) as advance:
        return states_of(data_root / name, dataset, trust, advance)


def states_of(
    folder: Path, dataset: Dataset | None, trust: Trust, advance: Advance | None
) -> list[FileState]:
    """State of each file; without `advance` by names and sizes alone."""
    if dataset is None or dataset.made is not None:
        return _recorded_states(folder, None, advance)
    return [
        state
        for file in dataset.files
        for state in file_states(folder, dataset, file, trust, advance)
    ]


def file_states(
    folder: Path, dataset: Dataset, file: RemoteFile, trust: Trust, advance: Advance | None
) -> list[FileState]:
    """State of one download: of the file, or of each file unpacked from it."""
    local = folder / file.local_name
    expected = expected_sha256(dataset, file, trust)
    if file.unpack is None:
        state = _state(local, file.size_bytes, expected, advance)
        return [FileState(dataset=folder.name, file=file.name, state=state)]
    contents = read_contents(local)
    if advance is None and contents is None:
        return [FileState(dataset=folder.name, file=f"{file.local_name}/", state="missing")]
    if advance is not None and contents is not None and contents.origin_sha256 != expected:
        return [FileState(dataset=folder.name, file=file.local_name, state="changed")]
    return _recorded_states(folder, file.local_name, advance)


def expected_sha256(dataset: Dataset, file: RemoteFile, trust: Trust) -> str | None:
    """Published checksum, else the one that the user trusted at the first download."""
    return file.sha256 or trust.sha256.get(dataset.address(file))


def _recorded_states(folder: Path, inside: str | None, advance: Advance | None) -> list[FileState]:
    """State of each file of a dataset's folder, or of the folder `inside` it, as recorded."""
    whole = folder / (inside or ".")
    prefix = f"{inside}/" if inside else ""
    contents = read_contents(whole)
    if contents is None:
        state: State = "unverified" if whole.is_dir() else "missing"
        return [FileState(dataset=folder.name, file=prefix or ".", state=state)]
    return [
        FileState(
            dataset=folder.name,
            file=f"{prefix}{known.path}",
            state=_state(whole / known.path, known.size_bytes, known.sha256, advance),
        )
        for known in contents.files
    ]


def _state(
    path: Path, size_bytes: int | None, sha256: str | None, advance: Advance | None
) -> State:
    if not path.is_file():
        return "missing"
    # A wrong size says enough: there is no need to read the file.
    if size_bytes is not None and path.stat().st_size != size_bytes:
        return "changed"
    if advance is None:
        return "ok"
    if sha256 is None:
        return "unverified"
    return "ok" if sha256_of(path, advance) == sha256 else "changed"


Presence = Literal["here", "partly", "changed", "absent"]
"""changed: a file is there in another size, or made by other parameters, than it must have."""


def dataset_path(name_or_path: str, registry: Registry, data_root: Path) -> Path | None:
    """Path of the movie or slides that a name or path stands for; None where it is not there.

    A name of the registry comes first, then one of synthetic data, then a path of the user's
    own; a file that is named like a dataset is meant by `./NAME`. Looks at names and sizes only:
    reading the files would warm the page cache that a run is about to measure.
    """
    dataset = registry.datasets.get(name_or_path)
    if dataset is not None:
        whole = presence(name_or_path, dataset, data_root) == "here"
        return data_root / name_or_path / dataset.movie if whole else None
    kind = synthetic_kinds(registry, data_root).get(name_or_path)
    if kind is not None:
        return data_root / name_or_path / READS[kind]
    path = Path(name_or_path).expanduser()
    return path if path.exists() else None


def presence(name: str, dataset: Dataset, data_root: Path) -> Presence:
    """How much of a dataset is there, by names and sizes."""
    folder = data_root / name
    with data_errors_explained(data_root):
        if dataset.made is not None and folder.exists() and made_by(folder) != dataset.made:
            return "changed"
        found = {one.state for one in states_of(folder, dataset, Trust(), None)}
    if "changed" in found:
        return "changed"
    if found == {"ok"}:
        return "here"
    # One that was made, and whose maker was stopped before its checksums were known, is unverified.
    return "absent" if found == {"missing"} else "partly"


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

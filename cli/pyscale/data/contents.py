"""What a folder must hold: its files with size and checksum, as they were when it was made."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, ValidationError

from pyscale.data.progress import Advance
from pyscale.data.registry import Sha256
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.hashing import sha256_of


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

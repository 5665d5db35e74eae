"""Every file of an image with its mode, owner, time and checksum, read without unpacking it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from pydantic import Field

from pyscale.errors import UserError
from pyscale.images.sif import read_sif
from pyscale_stages.contract import Record
from pyscale_stages.errors import MissingPart

_MARK = b"# START OF DATA - DO NOT MODIFY\n"
_ENTRY = re.compile(r"((?:\\.|[^\\ ])+) ([A-Z]) (.*)")
_CHUNK_BYTES = 1 << 20


class ListedFile(Record):
    """One path of an image."""

    kind: str = Field(description="D folder, R file, S symbolic link, L hard link, B C I special")
    time_s: int | None = None
    mode: str = ""
    owner: str = Field("", description="Numbers of user and group")
    target: str = Field("", description="Of a link, or the numbers of a device")
    size_bytes: int = 0
    sha256: str = Field("", description="Of a file's content")


@dataclass
class Listing:
    """All files of an image by their path, and the content of a few."""

    files: dict[str, ListedFile] = field(default_factory=dict)
    kept: dict[str, bytes] = field(default_factory=dict)


def list_files(sif: Path, keep: Collection[str] = ()) -> Listing:
    """Read the squashfs of an image as a stream.

    Parameters
    ----------
    sif : Path
        The image.
    keep : collection of str
        Paths of small files whose content is wanted.

    Raises
    ------
    UserError
        If the file is no SIF with a squashfs in it, or is damaged.
    MissingPart
        If `unsquashfs` is absent, or older than 4.5.
    """
    program = shutil.which("unsquashfs")
    if program is None or "-pf" not in _said(program, "-help"):
        raise MissingPart(
            "comparing images needs unsquashfs 4.5 or later: install the package 'squashfs-tools'"
        )
    offset = read_sif(sif).system_offset
    if offset is None:
        raise UserError(f"{sif} holds no system to look into: name an image that was built")
    # unsquashfs wants the name of a file; that of a pipe keeps gigabytes off the disk.
    reading, writing = os.pipe()
    command = [program, "-q", "-n", "-o", str(offset), "-pf", f"/dev/fd/{writing}", str(sif)]
    with (
        os.fdopen(reading, "rb") as stream,
        subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            pass_fds=(writing,),
        ) as process,
    ):
        os.close(writing)
        try:
            listing = _read(stream, keep)
        except (ValueError, IndexError) as error:
            process.kill()
            raise UserError(f"{sif} holds what cannot be listed: {error}") from error
        complaint = process.stderr.read().strip() if process.stderr else ""
    if process.returncode != 0:
        raise UserError(f"{sif} cannot be read ({complaint}): build or pull it again")
    return listing


def _read(stream: BinaryIO, keep: Collection[str]) -> Listing:
    """Read the table of files, then the contents, which follow in the table's order."""
    listing = Listing()
    contents: list[tuple[int, int, str]] = []
    for raw in stream:
        if raw == _MARK:
            stream.readline()
            break
        line = raw.decode("utf-8", "surrogateescape").rstrip("\n")
        if line.startswith("#"):
            continue
        path, file, start = _entry(line)
        listing.files[path] = file
        if file.kind == "R":
            contents.append((start, file.size_bytes, path))
    position = 0
    # An empty file begins where the next one does, and comes before it.
    for start, size_bytes, path in sorted(contents):
        if start != position:
            raise ValueError(f"{path} begins at {start} where {position} was expected")
        digest, content = _consume(stream, size_bytes, kept=path in keep)
        position += size_bytes
        listing.files[path] = listing.files[path].model_copy(update={"sha256": digest})
        if path in keep:
            listing.kept[path] = content
    return listing


def _entry(line: str) -> tuple[str, ListedFile, int]:
    """Understand one line: path, kind, time, mode, user, group, and what is special to the kind."""
    found = _ENTRY.fullmatch(line)
    if found is None:
        raise ValueError(f"the line {line[:80]!r}")
    path, kind = re.sub(r"\\(.)", r"\1", found[1]), found[2]
    if kind == "L":
        return path, ListedFile(kind=kind, target=found[3]), 0
    time_s, mode, user, group, *rest = found[3].split(" ", 4)
    file = ListedFile(kind=kind, time_s=int(time_s), mode=mode, owner=f"{user}:{group}")
    if kind == "R":
        # Later releases add whether it is sparse.
        size_bytes, start = rest[0].split(" ")[:2]
        return path, file.model_copy(update={"size_bytes": int(size_bytes)}), int(start)
    return path, file.model_copy(update={"target": rest[0] if rest else ""}), 0


def _consume(stream: BinaryIO, size_bytes: int, *, kept: bool) -> tuple[str, bytes]:
    digest, content, left = hashlib.sha256(), b"", size_bytes
    while left:
        chunk = stream.read(min(left, _CHUNK_BYTES))
        if not chunk:
            raise ValueError("it ends too early")
        digest.update(chunk)
        content += chunk if kept else b""
        left -= len(chunk)
    return digest.hexdigest(), content


def _said(*command: str) -> str:
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.stdout + answer.stderr

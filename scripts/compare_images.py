"""Differences between two images, file by file: `scripts/compare_images.py A.sif B.sif`.

Compares every path with its kind, mode, owner, time and content, then the Debian and Python
packages, then the bytes of the two SIF files. Exit code 0 where all files are the same but for
the build's date in the labels, 1 where some differ.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from pydantic import Field

from pyscale.errors import UserError
from pyscale.images.sif import read_sif
from pyscale_stages.contract import Record
from pyscale_stages.errors import MissingPart, StageError
from pyscale_stages.hashing import sha256_of

_MARK = b"# START OF DATA - DO NOT MODIFY\n"
_ENTRY = re.compile(r"((?:\\.|[^\\ ])+) ([A-Z]) (.*)")
_CHUNK_BYTES = 1 << 20


LABELS = ".singularity.d/labels.json"
BUILD_DATE = "org.label-schema.build-date"
"""Label that the container program writes itself: the one that is meant to differ."""

_DEBIAN = "opt/pyscale/debian-packages.txt"
_PYTHON = re.compile(r"opt/pyscale/venv/lib/python[\d.]+/site-packages/([^/]+)\.dist-info/METADATA")


def differences(first: dict[str, ListedFile], second: dict[str, ListedFile]) -> list[str]:
    """One line for each path that differs, in the order of the paths."""
    lines = []
    for path in sorted(first.keys() | second.keys()):
        a, b = first.get(path), second.get(path)
        if a is None or b is None:
            lines.append(f"{path}: only in the {'second' if a is None else 'first'}")
        elif a != b:
            fields = [
                f"{name} {getattr(a, name)} / {getattr(b, name)}"
                for name in ListedFile.model_fields
                if getattr(a, name) != getattr(b, name)
            ]
            lines.append(f"{path}: {', '.join(fields)}")
    return lines


def packages(files: dict[str, ListedFile]) -> set[str]:
    """Python distributions with their versions, as their folders tell."""
    return {found[1] for found in map(_PYTHON.fullmatch, files) if found}


def compare(first: Path, second: Path) -> tuple[list[str], list[str]]:
    """Compare two images.

    Returns
    -------
    files : list of str
        What differs among the files, beside the build's date.
    others : list of str
        What else can be told, for a person to read.

    Raises
    ------
    UserError
        If a file is no SIF, or damaged.
    MissingPart
        If `unsquashfs` is absent or too old.
    """
    a, b = (list_files(sif, keep=(LABELS, _DEBIAN)) for sif in (first, second))
    others = []
    if a.kept.get(LABELS) != b.kept.get(LABELS):
        labels_a, labels_b = (json.loads(x.kept.get(LABELS, b"{}")) for x in (a, b))
        changed = {
            k for k in labels_a.keys() | labels_b.keys() if labels_a.get(k) != labels_b.get(k)
        }
        if changed == {BUILD_DATE}:
            others.append(f"{LABELS}: {BUILD_DATE} {labels_a[BUILD_DATE]} / {labels_b[BUILD_DATE]}")
            for listing in (a, b):
                del listing.files[LABELS]
    others.append(_packages_line("Python", packages(a.files), packages(b.files)))
    debian_a, debian_b = (set(x.kept.get(_DEBIAN, b"").decode().splitlines()) for x in (a, b))
    others.append(_packages_line("Debian", debian_a, debian_b))
    return differences(a.files, b.files), [*others, _bytes_line(first, second)]


def _packages_line(kind: str, first: set[str], second: set[str]) -> str:
    different = sorted(first ^ second)
    if not different:
        return f"{kind} packages: the same {len(first)}"
    return f"{kind} packages that only one image has: {', '.join(different)}"


def _bytes_line(first: Path, second: Path) -> str:
    if sha256_of(first) == sha256_of(second):
        return "SIF bytes: the same"
    sizes = first.stat().st_size, second.stat().st_size
    return f"SIF bytes: different ({sizes[0]} and {sizes[1]} bytes)"


def main(arguments: Iterable[str]) -> int:
    """Compare the two images named and print what differs."""
    names = list(arguments)
    if len(names) != 2:
        print("usage: scripts/compare_images.py A.sif B.sif", file=sys.stderr)
        return 2
    try:
        files, others = compare(Path(names[0]), Path(names[1]))
    except (UserError, StageError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for line in [*files, *others]:
        print(line)
    print("files: " + (f"{len(files)} differ" if files else "no differences"))
    return 1 if files else 0


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
        raise UserError(f"{sif} has no system partition: name an image that was built")
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
            raise UserError(f"the files of {sif} cannot be listed: {error}") from error
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

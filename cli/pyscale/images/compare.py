"""What differs between two images, file by file: `python -m pyscale.images.compare A.sif B.sif`.

Compares every path with its kind, mode, owner, time and content, then the Debian and Python
packages, then the bytes of the two SIF files. Exit code 0 where all files are the same but for
the build's date in the labels, 1 where some differ.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from pyscale.errors import UserError
from pyscale.images.squashlisting import ListedFile, list_files
from pyscale_stages.errors import StageError
from pyscale_stages.hashing import sha256_of

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
    return f"{kind} packages that are in one alone: {', '.join(different)}"


def _bytes_line(first: Path, second: Path) -> str:
    if sha256_of(first) == sha256_of(second):
        return "SIF bytes: the same"
    sizes = first.stat().st_size, second.stat().st_size
    return f"SIF bytes: not the same ({sizes[0]} and {sizes[1]} bytes)"


def main(arguments: Iterable[str]) -> int:
    """Compare the two images named and print what differs."""
    names = list(arguments)
    if len(names) != 2:
        print("usage: python -m pyscale.images.compare A.sif B.sif", file=sys.stderr)  # noqa: T201
        return 2
    try:
        files, others = compare(Path(names[0]), Path(names[1]))
    except (UserError, StageError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - talk
        return 2
    for line in [*files, *others]:
        print(line)  # noqa: T201 - the answer
    print("files: " + (f"{len(files)} differ" if files else "all the same"))  # noqa: T201
    return 1 if files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

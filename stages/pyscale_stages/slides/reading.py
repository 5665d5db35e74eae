"""The slides at a path."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pyscale_stages.errors import BadInput

SLIDE_SUFFIXES = frozenset({
    ".svs", ".tif", ".tiff", ".ndpi", ".mrxs", ".scn", ".bif", ".vms", ".vmu", ".svslide", ".zarr",
})  # fmt: skip
"""How names of slides end; folders count where they end in .zarr."""
LIST = ".txt"
"""How the name of a list of slides ends."""
_ZARR = ".zarr"


def slide_files(path: Path) -> list[Path]:
    """List the slides at a path: itself, those of a list, or those below a folder, by their paths.

    A list is a .txt file with the path of a slide, or of a folder of them, in each line.
    """
    if not path.exists():
        raise BadInput(f"{path} does not exist: give a slide, or a folder or a list of slides")
    if path.is_file() and path.suffix.lower() == LIST:
        lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        named = [path.parent / line.strip() for line in lines if line.strip()]
        if any(one.suffix.lower() == LIST for one in named):
            raise BadInput(f"{path} names a list of slides: name the slides themselves in it")
        # Once each, as what several ranks had would be counted twice.
        found = list(dict.fromkeys(slide for one in named for slide in slide_files(one)))
    elif path.is_file() or path.suffix.lower() == _ZARR:
        return [path]
    elif path.is_dir():
        found = sorted(_below(path))
    else:
        # A pipe or a device would be waited for.
        raise BadInput(
            f"{path} is neither a file nor a folder: give a slide, or a folder of slides"
        )
    if not found:
        raise BadInput(
            f"{path} holds no slides: put slides there whose names end in one of "
            f"{', '.join(sorted(SLIDE_SUFFIXES))}"
        )
    return found


def _below(folder: Path) -> Iterator[Path]:
    """Find the slides in a folder and in those in it, but in no folder that is part of a slide."""
    for place, folders, files in os.walk(folder):
        slides = [one for name in (*folders, *files) if _is_slide(one := Path(place, name))]
        yield from slides
        parts = {one.stem for one in slides} | {one.name for one in slides}
        folders[:] = [name for name in folders if name not in parts and not name.startswith(".")]


def _is_slide(entry: Path) -> bool:
    # Hidden files are what an operating system or an interrupted copy left.
    if entry.name.startswith(".") or entry.suffix.lower() not in SLIDE_SUFFIXES:
        return False
    return entry.is_dir() if entry.suffix.lower() == _ZARR else entry.is_file()

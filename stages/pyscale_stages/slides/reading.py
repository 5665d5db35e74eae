"""The slides at a path."""

from __future__ import annotations

import os
from pathlib import Path

from pyscale_stages.errors import BadInput

SLIDE_SUFFIXES = frozenset({
    ".svs", ".tif", ".tiff", ".ndpi", ".mrxs", ".scn", ".bif", ".vms", ".vmu", ".svslide", ".zarr",
})  # fmt: skip
"""How names of slides end; folders count where they end in .zarr."""
_ZARR = ".zarr"


def slide_files(path: Path) -> list[Path]:
    """List the slides at a path by name: itself, or those in a folder, but not in folders of it."""
    if not path.exists():
        raise BadInput(f"{path} does not exist: give a slide, or a folder of slides")
    if path.is_file() or path.suffix.lower() == _ZARR:
        return [path]
    if not path.is_dir():
        # A pipe or a device would be waited for.
        raise BadInput(
            f"{path} is neither a file nor a folder: give a slide, or a folder of slides"
        )
    found = sorted(entry for entry in path.iterdir() if _is_slide(entry))
    if not found:
        raise BadInput(
            f"{path} holds no slides: put slides there whose names end in one of "
            f"{', '.join(sorted(SLIDE_SUFFIXES))}"
        )
    return found


def check_readable(path: Path) -> None:
    """Refuse what no reader can open."""
    if not path.exists():
        raise BadInput(f"{path} does not exist: give the path of a slide")
    if not os.access(path, os.R_OK):
        raise BadInput(f"{path} is not readable for this user: change its permissions")
    if path.is_file() and path.stat().st_size == 0:
        raise BadInput(f"{path} is empty (0 bytes): the copy or download failed; fetch it again")


def _is_slide(entry: Path) -> bool:
    # Hidden files are what an operating system or an interrupted copy left.
    if entry.name.startswith(".") or entry.suffix.lower() not in SLIDE_SUFFIXES:
        return False
    return entry.is_dir() if entry.suffix.lower() == _ZARR else entry.is_file()

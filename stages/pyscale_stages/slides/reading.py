"""The slides at a path, and one way to open any of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Literal

from pyscale_stages.errors import BadInput, MissingPart
from pyscale_stages.libraries import how_to_install
from pyscale_stages.slides.slide import Slide

SLIDE_SUFFIXES = frozenset({
    ".svs", ".tif", ".tiff", ".ndpi", ".mrxs", ".scn", ".bif", ".vms", ".vmu", ".svslide", ".zarr",
})  # fmt: skip
"""How names of slides end; folders count where they end in .zarr."""
_ZARR = ".zarr"
Reader = Literal["auto", "tifffile", "openslide", "tiffslide", "zarr"]
READERS: dict[Reader, tuple[str, str]] = {
    "auto": ("reading", "opened_by_file"),
    "tifffile": ("tifffile_reader", "open_tiled_tiff"),
    "openslide": ("otherreaders", "OpenSlideSlide"),
    "tiffslide": ("otherreaders", "TiffSlideSlide"),
    "zarr": ("zarr_reader", "ZarrSlide"),
}
"""Module of each reader here, which imports its library, and what opens a slide there."""
COLOURS = 3
_TIFF_SUFFIXES = frozenset({".tif", ".tiff", ".svs"})


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


def open_slide(path: Path, reader: Reader = "auto") -> Slide:
    """Open a slide: a file, or the folder of an OME-Zarr image."""
    if reader not in READERS:
        raise BadInput(f"unknown reader {reader}: choose from {', '.join(READERS)}")
    module, name = READERS[reader]
    opener: Callable[[Path], Slide] = getattr(import_module(f"{__package__}.{module}"), name)
    try:
        return opener(path)
    except ImportError as error:
        raise MissingPart(
            f"the reader {reader} for {path} is not installed here ({error}): "
            f"{how_to_install('loader')}, or leave out --grid reader"
        ) from error


def opened_by_file(path: Path) -> Slide:
    """Open a slide by the reader that its kind of file goes with."""
    if path.is_dir():
        return open_slide(path, "zarr")
    if path.suffix.lower() not in _TIFF_SUFFIXES:
        return open_slide(path, "openslide")

    from pyscale_stages.slides.tifffile_reader import TiledTiff
    from pyscale_stages.slides.tifflayout import TiffLayout, tiff_layout

    layout = tiff_layout(path)
    if not isinstance(layout, TiffLayout):
        if layout.is_for_openslide:
            return open_slide(path, "openslide")
        raise BadInput(
            f"no reader takes regions of {path} ({layout.why}): write it as a tiled TIFF, or as "
            "OME-Zarr"
        )
    if layout.has_gaps and layout.channels == COLOURS:
        # What was never scanned is drawn from other levels, by rules that OpenSlide knows.
        return open_slide(path, "openslide")
    return TiledTiff(path, layout)

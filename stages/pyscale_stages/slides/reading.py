"""One way to open any slide."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Literal

from pyscale_stages.errors import BadInput
from pyscale_stages.slides.slide import Slide

Reader = Literal["auto", "tifffile", "openslide", "tiffslide", "zarr", "stack"]
READERS: dict[Reader, tuple[str, str]] = {
    "auto": ("reading", "opened_by_file"),
    "tifffile": ("tifffile_reader", "open_tiled_tiff"),
    "openslide": ("openslide_reader", "OpenSlideSlide"),
    "tiffslide": ("tiffslide_reader", "TiffSlideSlide"),
    "zarr": ("zarr_reader", "ZarrSlide"),
    "stack": ("stack_reader", "StackSlide"),
}
"""Module of each reader here, which imports its library, and what opens a slide there."""
COLOURS = 3
_TIFF_SUFFIXES = frozenset({".tif", ".tiff", ".svs"})


def open_slide(path: Path, reader: Reader = "auto") -> Slide:
    """Open a slide, a file or the folder of an OME-Zarr image.

    "auto" takes "zarr" for folders, "tifffile" for tiled TIFF (pyramids, SVS, OME-TIFF), "stack"
    for other TIFF, and "openslide" for the rest and for TIFF slides whose makers have rules of
    their own.
    """
    if reader not in READERS:
        raise BadInput(f"unknown reader {reader}: choose from {', '.join(READERS)}")
    module, name = READERS[reader]
    slide: Slide = getattr(import_module(f"pyscale_stages.slides.{module}"), name)(path)
    return slide


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
        return open_slide(path, layout.reader)
    if layout.has_gaps and layout.channels == COLOURS:
        # What was never scanned is drawn from other levels, by rules that OpenSlide knows.
        return open_slide(path, "openslide")
    return TiledTiff(path, layout)

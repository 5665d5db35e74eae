"""One way to open any slide."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pyscale_stages.errors import BadInput
from pyscale_stages.slides.slide import Slide

Reader = Literal["auto", "tifffile", "openslide", "tiffslide", "zarr", "stack"]
READERS: tuple[Reader, ...] = ("auto", "tifffile", "openslide", "tiffslide", "zarr", "stack")

COLOURS = 3
_TIFF_SUFFIXES = frozenset({".tif", ".tiff", ".svs"})


def open_slide(path: Path, reader: Reader = "auto") -> Slide:
    """Open a slide, a file or the folder of an OME-Zarr image.

    "auto" takes "zarr" for folders, "tifffile" for tiled TIFF (pyramids, SVS, OME-TIFF), "stack"
    for other TIFF, and "openslide" for the rest and for TIFF slides whose makers have rules of
    their own.
    """
    if reader == "auto":
        return _by_file(path)
    if reader == "tifffile":
        from pyscale_stages.slides.tifffile_reader import open_tiled_tiff

        return open_tiled_tiff(path)
    if reader == "openslide":
        from pyscale_stages.slides.openslide_reader import OpenSlideSlide

        return OpenSlideSlide(path)
    if reader == "tiffslide":
        from pyscale_stages.slides.tiffslide_reader import TiffSlideSlide

        return TiffSlideSlide(path)
    if reader == "zarr":
        from pyscale_stages.slides.zarr_reader import open_zarr

        return open_zarr(path)
    if reader == "stack":
        from pyscale_stages.slides.stack_reader import StackSlide

        return StackSlide(path)
    raise BadInput(f"unknown reader {reader}: choose from {', '.join(READERS)}")


def _by_file(path: Path) -> Slide:
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

"""Facts of a TIFF file from its directories, including the size of its pixels."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from pyscale_stages.errors import BadInput
from pyscale_stages.slides.files import check_readable
from pyscale_stages.slides.slide import number_said

if TYPE_CHECKING:
    import tifffile

_UM_PER_RESOLUTION_UNIT = {2: 25_400.0, 3: 10_000.0}
"""Micrometres in an inch and in a centimetre, by TIFF's numbers of them."""
_UM = {"nm": 1e-3, "µm": 1.0, "um": 1.0, "micron": 1.0, "mm": 1e3, "cm": 1e4, "m": 1e6}

DAMAGE = (
    ValueError,
    OSError,
    RuntimeError,
    ArithmeticError,
    LookupError,
    TypeError,
    AttributeError,
    struct.error,
)
"""What parsers of TIFF raise where a directory says what cannot be."""


@contextmanager
def opened(path: Path) -> Iterator[tifffile.TiffFile]:
    """Open a TIFF file, for its directories."""
    import tifffile

    check_readable(path)
    try:
        with tifffile.TiffFile(path) as tiff:
            yield tiff
    except DAMAGE as error:
        raise BadInput(
            f"{path} is not a readable slide, or is damaged ({error}): copy it again, or remove "
            "it from the folder"
        ) from error


def mpp_of(path: Path) -> float | None:
    """Read how large a pixel of a TIFF is.

    Returns: micrometres per pixel; None where the file does not say.
    """
    with opened(path) as tiff:
        return mpp_in(tiff)


def mpp_in(tiff: tifffile.TiffFile) -> float | None:
    """Read the same from an open file, wherever one of its kind says so."""
    page = tiff.pages.first
    if tiff.is_svs:
        said = re.search(r"\|\s*MPP\s*=\s*([^|\s]+)", page.description)
        return number_said(said[1]) if said else None
    if tiff.is_ome and tiff.ome_metadata:
        try:
            pixels = ElementTree.fromstring(tiff.ome_metadata).find(".//{*}Image/{*}Pixels")
        except ElementTree.ParseError:
            return None
        size = None if pixels is None else number_said(pixels.get("PhysicalSizeX"))
        unit = None if pixels is None else _UM.get(pixels.get("PhysicalSizeXUnit", "µm"))
        return size * unit if size and unit else None
    numerator, denominator = page.tags.valueof(282, (0, 1))
    unit_um = _UM_PER_RESOLUTION_UNIT.get(int(page.tags.valueof(296, 2)))
    if tiff.is_imagej and tiff.imagej_metadata:
        unit_um = _UM.get(tiff.imagej_metadata.get("unit", ""), unit_um)
    return unit_um * denominator / numerator if unit_um and numerator and denominator else None

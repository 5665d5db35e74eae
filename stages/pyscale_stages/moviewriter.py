"""Frames out: OME-TIFF that has the same bytes whenever it has the same pixels."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[Any]

CLASSIC_TIFF_BYTES = 2**32 - 2**25
"""What a TIFF with 32-bit offsets can hold, less room for its pages' headers."""
NIL_UUID = "urn:uuid:00000000-0000-0000-0000-000000000000"
"""What tifffile would otherwise draw at random, so that no two files have the same bytes."""


class PackedFrames:
    """Images kept compressed, about a hundredth of the size of labels, until they are written.

    The same frames give the same bytes, whether one task added them or `merge` did.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._pages: list[bytes] = []
        self._shape_yx: tuple[int, ...] = ()
        self._dtype = np.dtype(dtype)

    def add(self, image: Pixels) -> None:
        """Add the next frame, shape (Y, X)."""
        self._shape_yx = image.shape
        self._pages.append(zlib.compress(np.ascontiguousarray(image, self._dtype).data))

    def widen(self, dtype: npt.DTypeLike) -> None:
        """Keep frames as a larger type from here on, and those that were added already, too."""
        narrow, self._dtype = self._dtype, np.dtype(dtype)
        wider = (
            np.frombuffer(zlib.decompress(page), narrow).astype(self._dtype) for page in self._pages
        )
        self._pages = [zlib.compress(page.data) for page in wider]

    def write(self, path: Path) -> None:
        """Write all frames."""
        write_pages(path, self._pages, (len(self._pages), *self._shape_yx), self._dtype)


def write_movie(path: Path, frames: Pixels, axes: str) -> None:
    """Write frames or labels that are in memory, of the axes "TYX" or "TCYX", as `.ome.tif`."""
    if frames.ndim != len(axes):
        raise ValueError(f"frames of shape {frames.shape} have no axes {axes}")
    write_pages(path, frames.reshape(-1, *frames.shape[-2:]), frames.shape, frames.dtype)


def write_pages(
    path: Path,
    pages: Iterable[Pixels] | Iterable[bytes],
    shape: tuple[int, ...],
    dtype: npt.DTypeLike,
) -> None:
    """Write images (Y, X), or their bytes compressed by zlib, as pages of an `.ome.tif`."""
    import tifffile

    each: Any = iter(pages)
    tifffile.imwrite(
        path,
        each,
        shape=shape,
        dtype=np.dtype(dtype),
        rowsperstrip=shape[-2],
        ome=True,
        # Decided by the shape alone, so that equal pixels stay equal bytes: how well they
        # compress is not known before they are written.
        bigtiff=math.prod(shape) * np.dtype(dtype).itemsize > CLASSIC_TIFF_BYTES,
        photometric="minisblack",
        compression="zlib",
        # One thread: the stage's thread count is a measured parameter.
        maxworkers=1,
        metadata={
            "axes": "TYX" if len(shape) == 3 else "TCYX",
            "UUID": NIL_UUID,
            "Creator": "pyscale",
        },
    )

"""Movies in EER, the electron event representation of Falcon cameras.

An EER file is a BigTIFF whose pages hold a stream of codes instead of pixels: how many pixels
without an electron come next, and where inside its pixel the electron after them hit. A library
that writes it does not exist; tifffile and imagecodecs read it. Sizes of the codes by the
"EER file format documentation 3.0" (M. Leichsenring, Thermo Fisher Scientific, 2023).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Frame = npt.NDArray[Any]
Frames = Iterable[Frame]
"""Frames of shape (Y, X), one by one; an array of shape (T, Y, X) is such a series too."""

COMPRESSION = 65001
"""TIFF's number for codes of 7 bits for the run and 2 + 2 bits for the place in the pixel."""
RUN_BITS = 7
PLACE_BITS = 4
FULL_RUN = 2**RUN_BITS - 1
"""A run that goes on in the next code: no electron follows it."""
_METADATA_TAG = 65001
_UNDEFINED = 7
"""TIFF's type of bytes that mean nothing to TIFF."""


def write_eer(path: Path, frames: Frames) -> None:
    """Write a movie of electron events; more than one on a pixel of a frame is a `ValueError`."""
    import tifffile

    with tifffile.TiffWriter(path, bigtiff=True) as writer:
        for number, frame in enumerate(frames):
            writer.write(
                iter([encode_events(frame)]),
                shape=frame.shape,
                dtype=np.uint8,
                photometric="minisblack",
                rowsperstrip=frame.shape[0],
                # tifffile takes encoded strips only with a codec that it could write itself.
                compression="zlib",
                contiguous=False,
                metadata=None,
                software=False,
                extratags=[(_METADATA_TAG, _UNDEFINED, None, _metadata(frame), True)]
                if number == 0
                else [],
            )
    with tifffile.TiffFile(path, mode="r+") as file:
        for page in file.pages:
            page.aspage().tags["Compression"].overwrite(COMPRESSION)


def encode_events(frame: Frame) -> bytes:
    """Encode which pixels of a frame were hit, each in one quarter, in whole words of 16 bits."""
    if frame.max(initial=0) > 1:
        raise ValueError("EER holds at most one electron per pixel of a frame")
    hit = np.flatnonzero(frame)
    # After the last electron comes a last run, up to the end of the frame.
    runs = np.diff(hit, prepend=-1, append=frame.size) - 1
    full, rest = np.divmod(runs, FULL_RUN)
    # A run takes as many full codes as it needs, and one for the rest.
    ends = np.cumsum(full + 1) - 1
    codes = np.full(ends[-1] + 1, FULL_RUN, np.uint8)
    codes[ends] = rest
    lengths = np.full(codes.size, RUN_BITS, np.int64)
    # No electron, and so no place, follows the last run.
    lengths[ends[:-1]] += PLACE_BITS
    stops = np.cumsum(lengths)
    starts = stops - lengths
    bits = np.zeros(-(-int(stops[-1]) // 16) * 16, np.uint8)
    for bit in range(RUN_BITS):
        bits[starts + bit] = (codes >> bit) & 1
    return np.packbits(bits, bitorder="little").tobytes()


def _metadata(frame: Frame) -> bytes:
    height, width = frame.shape
    return (
        "<metadata>"
        f'<item name="sensorImageHeight" unit="pixel">{height}</item>'
        f'<item name="sensorImageWidth" unit="pixel">{width}</item>'
        "</metadata>"
    ).encode()

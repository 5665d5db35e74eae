"""Movies in MRC2014: a header of 1024 bytes, and then the frames as they are.

Layout by Cheng et al., J. Struct. Biol. 192, 146 (2015), DOI 10.1016/j.jsb.2015.04.002.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pyscale_stages.errors import BadInput
from pyscale_stages.movieformats.counting import Frame, Frames, alike

HEADER = np.dtype(
    [
        ("n_xyz", "<i4", 3),
        ("mode", "<i4"),
        ("start_xyz", "<i4", 3),
        ("sampling_xyz", "<i4", 3),
        ("cell_angstrom", "<f4", 3),
        ("cell_degrees", "<f4", 3),
        ("axes", "<i4", 3),
        ("minimum", "<f4"),
        ("maximum", "<f4"),
        ("mean", "<f4"),
        ("space_group", "<i4"),
        ("extended_header_bytes", "<i4"),
        ("extra_1", "V8"),
        ("extended_header_type", "S4"),
        ("version", "<i4"),
        ("extra_2", "V84"),
        ("origin_xyz", "<f4", 3),
        ("map", "S4"),
        ("machine_stamp", "u1", 4),
        ("rms", "<f4"),
        ("n_labels", "<i4"),
        ("labels", "S80", 10),
    ]
)
MODES = {mode: np.dtype(name) for mode, name in {0: "<i1", 1: "<i2", 2: "<f4", 6: "<u2"}.items()}
"""Type of a pixel by the header's `mode`, as far as movies use it."""
_LITTLE_ENDIAN = (0x44, 0x44, 0, 0)


def write_mrc(path: Path, frames: Frames) -> None:
    """Write a movie as a stack of images; uint8 as uint16, because MRC has no unsigned byte."""
    shape_yx: tuple[int, ...] = ()
    kept: np.dtype[Any] = np.dtype(np.int8)
    count = 0
    with path.open("wb") as file:
        file.seek(HEADER.itemsize)
        for frame in alike(frames):
            shape_yx = frame.shape
            kept = MODES[6] if frame.dtype == np.uint8 else frame.dtype.newbyteorder("<")
            if kept not in MODES.values():
                raise ValueError(f"MRC has no pixel type for {frame.dtype}")
            file.write(frame.astype(kept, copy=False).data.cast("B"))
            count += 1
        # How many frames there are is known only now.
        file.seek(0)
        file.write(_header(count, shape_yx, kept).tobytes())


def open_mrc(path: Path) -> Frame:
    """Map a movie (T, Y, X) into memory to be read, without reading its pixels."""
    with path.open("rb") as file:
        content = file.read(HEADER.itemsize)
    if len(content) < HEADER.itemsize:
        raise BadInput(f"{path} is too short for the header of an MRC file")
    header = np.frombuffer(content, HEADER)[0]
    mode = int(header["mode"])
    if header["map"] != b"MAP " or header["machine_stamp"][0] != _LITTLE_ENDIAN[0]:
        raise BadInput(f"{path} is not a little-endian MRC2014 file")
    if mode not in MODES:
        raise BadInput(f"{path} has the MRC mode {mode}; supported: {', '.join(map(str, MODES))}")
    width, height, count = (int(n) for n in header["n_xyz"])
    offset = HEADER.itemsize + int(header["extended_header_bytes"])
    needed = offset + width * height * count * MODES[mode].itemsize
    if path.stat().st_size < needed:
        raise BadInput(f"{path} is cut short: it should have {needed} bytes")
    return np.memmap(path, MODES[mode], "r", offset, (count, height, width))


def _header(count: int, shape_yx: tuple[int, ...], dtype: np.dtype[Any]) -> Frame:
    height, width = shape_yx
    header = np.zeros((), HEADER)
    header["n_xyz"] = width, height, count
    header["mode"] = next(mode for mode, kept in MODES.items() if kept == dtype)
    # One layer, space group 0: images of a stack, and no volume.
    header["sampling_xyz"] = header["cell_angstrom"] = width, height, 1
    header["cell_degrees"] = 90
    header["axes"] = 1, 2, 3
    # In this order they say that nobody has looked: that would be another pass over the pixels.
    header["minimum"], header["maximum"], header["mean"], header["rms"] = 0, -1, -2, -1
    header["version"] = 20141
    header["map"] = b"MAP "
    header["machine_stamp"] = _LITTLE_ENDIAN
    return header

"""Movies in MRC2014, by mrcfile: a header of 1024 bytes, and then the frames as they are."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from pyscale_stages.movieformats.counting import Frames, alike

HEADER_BYTES = 1024


def write_mrc(path: Path, frames: Frames) -> None:
    """Write a movie as a stack of images; uint8 as uint16, because MRC has no unsigned byte."""
    import mrcfile

    frames = alike(frames)
    with mrcfile.new(path, next(frames)[np.newaxis], overwrite=True) as file:
        file.set_image_stack()
        # Statistics would be another pass over the pixels.
        file.reset_header_stats()
        # Its label holds the time: the same frames would give another checksum each time.
        file.header.label = b""
        file.header.nlabl = 0
        header, dtype = file.header.copy(), file.data.dtype
    # mrcfile writes a movie from memory alone, or into a map, where a full disk kills the process.
    with path.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        for frame in frames:
            file.write(frame.astype(dtype, copy=False).data)
            header.nz += 1
        file.seek(0)
        file.write(header.tobytes())

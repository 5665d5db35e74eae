"""Movies in TIFF, in the codecs that electron cameras and archives use."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pyscale_stages.movieformats.frames import Frames, alike

TiffCodec = Literal["none", "lzw", "zlib", "zstd", "jpeg2000"]

_AS_TIFFFILE_SAYS: dict[TiffCodec, dict[str, Any]] = {
    "none": {},
    "lzw": {"compression": "lzw"},
    "zlib": {"compression": "zlib"},
    "zstd": {"compression": "zstd"},
    # The reversible wavelet and no limit of quality: what comes back is what went in.
    "jpeg2000": {
        "compression": "jpeg2000",
        "compressionargs": {"level": 0, "reversible": True},
    },
}


def write_tiff(path: Path, frames: Frames, codec: TiffCodec = "lzw") -> None:
    """Write a movie, each frame a page with one strip; every codec keeps the pixels exactly."""
    import tifffile

    # Offsets of 64 bits: how large the file becomes is not known before it is written.
    with tifffile.TiffWriter(path, bigtiff=True) as writer:
        for frame in alike(frames):
            writer.write(
                frame,
                photometric="minisblack",
                rowsperstrip=frame.shape[0],
                contiguous=False,
                metadata=None,
                software=False,
                maxworkers=1,
                **_AS_TIFFFILE_SAYS[codec],
            )

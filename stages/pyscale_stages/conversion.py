"""Formats that are not read, each with the command that makes a movie of it."""

from __future__ import annotations

import shlex
from pathlib import Path

OF_MICROSCOPES = {
    ".nd2": "Nikon ND2",
    ".czi": "Zeiss CZI",
    ".lif": "Leica LIF",
    ".ims": "Imaris IMS",
    ".oib": "Olympus OIB",
    ".oif": "Olympus OIF",
    ".vsi": "Olympus VSI",
    ".dv": "DeltaVision DV",
    ".zvi": "Zeiss ZVI",
    ".stk": "MetaMorph STK",
}
OF_CAMERAS = {".mp4": "MP4", ".avi": "AVI", ".mov": "QuickTime", ".mkv": "Matroska", ".gif": "GIF"}


def how_to_convert(path: Path) -> str | None:
    """What a file is and what converts it, in a sentence; None for all other formats."""
    # An OIF is a small file with a folder beside it, and all others are one file.
    ending, stem = path.suffix.lower(), path.with_suffix("")
    if ending in OF_MICROSCOPES:
        words = ["bfconvert", "-bigtiff", "-series", "0", str(path), f"{stem}.ome.tif"]
        return f"{path} is {OF_MICROSCOPES[ending]}: convert it by {shlex.join(words)}"
    if ending in OF_CAMERAS:
        frames = f"{stem}_frames"
        words = ["ffmpeg", "-i", str(path), "-pix_fmt", "gray", f"{frames}/%06d.png"]
        return (
            f"{path} is {OF_CAMERAS[ending]} video: convert it by mkdir {shlex.quote(frames)} && "
            f"{shlex.join(words)}"
        )
    return None

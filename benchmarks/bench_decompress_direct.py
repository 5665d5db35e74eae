"""Claim: decoding rates of the stage are within 5 % of calling imagecodecs directly.

Both decode the same movie from memory into the same memory on one thread, in turn.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import imagecodecs
import numpy as np
import numpy.typing as npt
import tifffile

from paired import compare
from pyscale_stages.decompress.run import decode_all, packed_movie, running_threads
from pyscale_stages.movieformats.codecs import Camera, CodecName, write_movie_file

REPEATS = 25
BAR = 1.05
SHAPE = 2048, 2048
CAMERA = Camera(frames=4, height_px=SHAPE[0], width_px=SHAPE[1], dose_per_px=0.4)


def into_bytes(decode: Any) -> Callable[[bytes, npt.NDArray[np.uint8]], object]:
    """Call a codec of bytes."""
    return lambda strip, frame: decode(strip, out=frame.reshape(-1))


DIRECT: dict[CodecName, Callable[[bytes, npt.NDArray[np.uint8]], object]] = {
    "tiff_lzw": into_bytes(imagecodecs.lzw_decode),
    "tiff_zlib": into_bytes(imagecodecs.deflate_decode),
    "tiff_zstd": into_bytes(imagecodecs.zstd_decode),
    "tiff_jpeg2000": lambda strip, frame: imagecodecs.jpeg2k_decode(strip, out=frame),
    "eer": lambda strip, frame: imagecodecs.eer_decode(strip, SHAPE, 7, 2, 2, out=frame),
}


def main() -> int:
    """Print medians and ratio of each codec; fail where one is off by more than the bar."""
    ratios = {name: ratio_of(name) for name in DIRECT}
    worst = max(ratios, key=lambda name: max(ratios[name], 1 / ratios[name]))
    print(f"furthest from 1: {worst} {ratios[worst]:.3f}, bar {BAR}")
    return 0 if 1 / BAR <= ratios[worst] <= BAR else 1


def ratio_of(name: CodecName) -> float:
    """Time of the stage divided by that of direct calls."""
    with TemporaryDirectory() as folder:
        movie = write_movie_file(name, CAMERA, 0, Path(folder))
        content = movie.path.read_bytes()
        packed = packed_movie(name, movie.path, memoryview(content))
        with tifffile.TiffFile(movie.path) as file:
            strips = [
                content[page.dataoffsets[0] : page.dataoffsets[0] + page.databytecounts[0]]
                for page in file.pages
            ]
    room = packed.room()

    def direct() -> None:
        for strip, frame in zip(strips, room, strict=True):
            DIRECT[name](strip, frame)

    with running_threads(1) as pool:
        stage, by_hand = compare(
            (f"{name} by the stage", f"{name} by imagecodecs"),
            (lambda: decode_all(packed, room, pool), direct),
            repeats=REPEATS,
        )
    return statistics.median(stage) / statistics.median(by_hand)


if __name__ == "__main__":
    sys.exit(main())

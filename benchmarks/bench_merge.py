"""Claim: a merge by copying costs at most a tenth of one that decodes and encodes, to the byte.

Two windows of ten frames of 1,024 x 1,024 px each, of three kinds: with a camera's noise, denoised,
and labels. Processor time of one thread per 100 frames, median; the two ways in turn.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy import ndimage

from pyscale_stages.movie import Movie, Pixels
from pyscale_stages.moviewriter import PackedFrames, write_joined, write_movie, write_pages
from pyscale_stages.segment.labels import LabelStack
from pyscale_stages.synth.movie import SynthParams, render_frames

RATIO = 10
REPEATS = 5
FRAMES = 10
MADE = SynthParams(
    frames=2 * FRAMES, height_px=1024, width_px=1024, cells=500, cell_types=1, seed=3
)


def main() -> int:
    """Compare both ways on each kind of frames; fail where the claim does not hold."""
    print(f"CPU-s per 100 frames, median of {REPEATS}")
    print(f"{'':14}{'decoded':>10}{'copied':>10}{'ratio':>8}")
    holds = True
    with TemporaryDirectory() as name:
        folder = Path(name)
        for kind, frames in made():
            is_labels = kind == "labels"
            movies = [
                Movie.open(written(folder / f"{kind}{part}.ome.tif", half, is_labels=is_labels))
                for part, half in enumerate((frames[:FRAMES], frames[FRAMES:]))
            ]
            ways: tuple[Callable[[Path, list[Movie]], None], ...] = (
                decoded_labels if is_labels else decoded,
                write_joined,
            )
            took: tuple[list[float], list[float]] = ([], [])
            for repeat in range(REPEATS + 1):
                for which in (0, 1) if repeat % 2 else (1, 0):
                    began = time.process_time()
                    ways[which](folder / f"{which}.ome.tif", movies)
                    took[which].append(time.process_time() - began)
            # The first repeat imports what tifffile decodes with.
            first, second = (statistics.median(seconds[1:]) * 100 / len(frames) for seconds in took)
            files = [(folder / f"{which}.ome.tif").read_bytes() for which in (0, 1)]
            same = files[0] == files[1]
            holds = holds and same and first / second >= RATIO
            print(
                f"{kind:14}{first:10.3f}{second:10.3f}{first / second:8.1f}"
                f"{'' if same else '  NOT the same bytes'}",
                flush=True,
            )
    return 0 if holds else 1


def made() -> Iterator[tuple[str, Pixels]]:
    """Frames of each kind, (T, Y, X)."""
    rendered = list(render_frames(MADE, ("camera",)))
    noisy = np.stack([frame.image[0] for frame in rendered]).astype(np.uint16)
    yield "noisy", noisy
    yield "denoised", np.stack([ndimage.median_filter(frame, 5) for frame in noisy])
    yield "labels", np.stack([frame.labels["camera"][0] for frame in rendered]).astype(np.uint16)


def written(path: Path, frames: Pixels, *, is_labels: bool) -> Path:
    """Write the output of a window as its stage does."""
    if not is_labels:
        write_movie(path, frames, "TYX")
        return path
    stack = LabelStack()
    for frame in frames:
        stack.add(frame)
    stack.write(path)
    return path


def decoded(path: Path, movies: list[Movie]) -> None:
    """Join movies by their pixels."""
    pages = chain.from_iterable(movie.frames(0, movie.n_frames, channel=0) for movie in movies)
    write_pages(path, pages, (2 * FRAMES, *movies[0].shape_yx), movies[0].dtype)


def decoded_labels(path: Path, movies: list[Movie]) -> None:
    """Join label images by their pixels."""
    stack: PackedFrames = LabelStack()
    for movie in movies:
        for frame in movie.frames(0, movie.n_frames, channel=0):
            stack.add(frame)
    stack.write(path)


if __name__ == "__main__":
    sys.exit(main())

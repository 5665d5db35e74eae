"""Claim: OME-Zarr is read cold in at most twice the time of OME-TIFF, and merged within a second.

A movie of 24 frames of 1,024 x 1,024 px with a camera's noise, in two windows, as stages write it:
OME-TIFF with zlib, and OME-Zarr with zstd, a chunk a frame. Each is read after its files were
evicted from the page cache, with proof; the formats take turns. Wall time of one thread, median.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import numpy as np

from pyscale_stages.framefiles import files_of
from pyscale_stages.measure.pagecache import evict_all
from pyscale_stages.movie import Movie, Pixels
from pyscale_stages.moviewriter import (
    link_chunks,
    open_written,
    stored_pages,
    write_chunks,
    write_movie,
    write_pages,
)
from pyscale_stages.synth.movie import SynthParams, render_frames
from pyscale_stages.wording import size_in_words

REPEATS = 5
FRAMES = 24
MADE = SynthParams(frames=FRAMES, height_px=1024, width_px=1024, cells=500, cell_types=1, seed=3)
HALVES = ((0, FRAMES // 2), (FRAMES // 2, FRAMES))
FORMATS = ("OME-TIFF", "OME-Zarr")
STEPS = ("write", "merge", "read cold")
MOST_TIMES, MOST_MERGE_S = 2.0, 1.0


def main() -> int:
    """Write, merge and read in both formats; fail where the claim does not hold."""
    rendered = render_frames(MADE, ("camera",))
    frames = np.stack([frame.image[0] for frame in rendered]).astype(np.uint16)
    took: dict[tuple[str, str], list[float]] = {(f, s): [] for f in FORMATS for s in STEPS}
    sizes, states = {}, set()
    # Not a temporary folder in memory: its files would have no page cache.
    with TemporaryDirectory(dir=Path.cwd()) as name:
        for repeat in range(REPEATS + 1):
            for form in FORMATS if repeat % 2 else reversed(FORMATS):
                folder = Path(name, form)
                windows = [folder / f"w{number}" for number in range(len(HALVES))]
                began = time.perf_counter()
                parts = [write(form, w, frames, at) for w, at in zip(windows, HALVES, strict=True)]
                written = time.perf_counter()
                whole = merge(form, folder, parts, frames)
                merged = time.perf_counter()
                states |= {eviction.state for eviction in evict_all(files_of(whole))}
                evicted = time.perf_counter()
                movie = Movie.open(whole)
                same = np.array_equal(movie.read(0, FRAMES, channel=0), frames)
                ended = time.perf_counter()
                assert same, f"{form} gave other frames"
                sizes[form] = size_in_words(movie.size_bytes)
                for step, seconds in zip(
                    STEPS, (written - began, merged - written, ended - evicted), strict=True
                ):
                    took[form, step].append(seconds)
                del movie
                rmtree(folder)
    # The first repeat imports what writes and reads.
    median = {key: statistics.median(seconds[1:]) for key, seconds in took.items()}
    print(
        f"{FRAMES} frames, s, median of {REPEATS}; page cache before reading: {', '.join(states)}"
    )
    print(f"{'':12}" + "".join(f"{step:>12}" for step in (*STEPS, "size")))
    for form in FORMATS:
        row = "".join(f"{median[form, step]:12.3f}" for step in STEPS)
        print(f"{form:12}{row}{sizes[form]:>12}")
    ratio = median["OME-Zarr", "read cold"] / median["OME-TIFF", "read cold"]
    print(f"OME-Zarr is read in {ratio:.2f} times the time")
    return 0 if ratio <= MOST_TIMES and median["OME-Zarr", "merge"] <= MOST_MERGE_S else 1


def write(form: str, folder: Path, frames: Pixels, window: tuple[int, int]) -> Path:
    """Write a window as a stage does."""
    folder.mkdir(parents=True)
    own = frames[slice(*window)]
    if form == "OME-TIFF":
        write_movie(folder / "frames.ome.tif", own, "TYX")
        return folder / "frames.ome.tif"
    write_chunks(folder / "frames.ome.zarr", own, frames.shape, frames.dtype, window[0])
    return folder / "frames.ome.zarr"


def merge(form: str, folder: Path, parts: list[Path], frames: Pixels) -> Path:
    """Join windows as a stage does."""
    whole = folder / parts[0].name
    if form == "OME-TIFF":
        movies = [open_written(part, at) for part, at in zip(parts, HALVES, strict=True)]
        pages = stored_pages(movies)
        assert pages is not None
        write_pages(whole, pages, frames.shape, frames.dtype)
    else:
        whole.mkdir()
        link_chunks(whole, parts)
    return whole


if __name__ == "__main__":
    sys.exit(main())

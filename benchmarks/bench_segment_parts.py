"""Claim: the parts of a call sum to 98 % of it, and timing them costs at most 1 %.

One warm network labels one frame with hooks and without, in pairs whose order alternates, so that
drift of the machine hits both alike. Where Cellpose 4 lies in build/cellpose4, the same is done in
a process with that: its network has its real shape and draws cells by the weights of the tests.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from paired import seconds
from pyscale.analysis.intervals import median_interval
from pyscale_stages.movie import Movie, Pixels
from pyscale_stages.segment import calls
from pyscale_stages.segment.models import Model, Segmenter, import_cellpose, installed_cellpose
from pyscale_stages.segment.params import EMBEDDED_MODEL, SegmentParams, embedded_model
from pyscale_stages.segment.parts import HOOKS, timed_parts
from pyscale_stages.synth.movie import SynthParams, write_synthetic_movie

ROOT = Path(__file__).resolve().parents[1]
CELLPOSE4 = ROOT / "build" / "cellpose4"
COVERED = 0.98
COST = 1.01
ALONE_REPEATS = 200
PARAMS = SegmentParams()
PAIRS_OF_PX = {3: {224: 20, 448: 12, 672: 8}, 4: {224: 6}}
"""Cellpose 4's network takes several seconds on a CPU, even for the smallest frame."""


def main() -> int:
    """Measure both versions; fail where a bar is missed."""
    cellpose = installed_cellpose()
    with TemporaryDirectory() as folder:
        weights = embedded_model(EMBEDDED_MODEL)
        if cellpose == 4:
            weights = Path(folder) / "grid.pt"
            _make_weights(weights)
        import_cellpose(cellpose)
        cpu = calls.prepared_device("cpu", threads=1, seed=0)
        segmenter = Model(cellpose, weights).build(cpu)
        holds = True
        for length_px, pairs in PAIRS_OF_PX[cellpose].items():
            frame = synthetic_frame(Path(folder) / str(length_px), length_px)
            print(f"Cellpose {cellpose}, {length_px} px, {pairs} pairs, 1 thread")
            holds &= report(*measure(segmenter, frame, pairs), hooks_alone_s(segmenter, frame))
    if cellpose == 3 and CELLPOSE4.is_dir():
        environment = {**os.environ, "PYTHONPATH": str(CELLPOSE4)}
        other = subprocess.run([sys.executable, __file__], env=environment, check=False)
        holds &= other.returncode == 0
    return 0 if holds else 1


def measure(
    segmenter: Segmenter, frame: Pixels, pairs: int
) -> tuple[list[float], list[float], list[float]]:
    """Share that parts cover in calls with hooks, and seconds of calls without and with them."""
    covered: list[float] = []

    def hooked() -> None:
        start = time.monotonic()
        with timed_parts(HOOKS, wait=lambda: None) as times:
            segmenter.segment(frame, PARAMS)
        covered.append(sum(times.seconds.values()) / (time.monotonic() - start))

    arms = (lambda: segmenter.segment(frame, PARAMS), hooked)
    taken: tuple[list[float], list[float]] = ([], [])
    for pair in range(pairs + 1):
        for which in (0, 1) if pair % 2 else (1, 0):
            taken[which].append(seconds(arms[which]))
    # The first pair warms up.
    return covered[1:], taken[0][1:], taken[1][1:]


def hooks_alone_s(segmenter: Segmenter, frame: Pixels) -> float:
    """Seconds that as many parts as a call has take where nothing is in them."""
    edges = 0

    def count() -> None:
        nonlocal edges
        edges += 1

    with timed_parts(HOOKS, wait=count):
        segmenter.segment(frame, PARAMS)

    def empty() -> None:
        with timed_parts(HOOKS, wait=lambda: None) as times:
            for _ in range(edges // 2):
                with times.part("network"):
                    pass

    return statistics.median(seconds(empty) for _ in range(ALONE_REPEATS))


def report(
    covered: Sequence[float], plain_s: Sequence[float], hooked_s: Sequence[float], alone_s: float
) -> bool:
    """Print what was measured; a bar is missed where its whole interval lies beyond it."""
    ratios = [hooked / plain for hooked, plain in zip(hooked_s, plain_s, strict=True)]
    (share, *share_ends), (ratio, *ratio_ends) = _median(covered), _median(ratios)
    call_s = statistics.median(plain_s)
    alone = 1 + alone_s / min(plain_s)
    print(f"  a call without hooks     {call_s:.3f} s, the fastest {min(plain_s):.3f} s")
    print(f"  sum of parts / call      {share:.4f} {share_ends}   bar {COVERED}")
    print(f"  with hooks / without     {ratio:.4f} {ratio_ends}   bar {COST}")
    print(f"  by the hooks alone       {alone:.5f} of the fastest ({1000 * alone_s:.2f} ms)")
    return share_ends[1] >= COVERED and max(ratio_ends[0], alone) <= COST


def synthetic_frame(folder: Path, length_px: int) -> Pixels:
    """One frame with as many cells for each pixel at each size."""
    cells = round(50 * (length_px / 256) ** 2)
    params = SynthParams(
        seed=3, frames=1, height_px=length_px, width_px=length_px, cells=cells, cell_types=1
    )
    movie = Movie.open(write_synthetic_movie(folder, params) / "movie.ome.tif")
    return next(iter(movie.frames(0, 1, channel=0)))


def _median(values: Sequence[float]) -> tuple[float, float, float]:
    """Median, and the ends of its 95 % interval."""
    interval = median_interval(values)
    assert interval is not None
    return statistics.median(values), round(interval.low, 4), round(interval.high, 4)


def _make_weights(path: Path) -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    from cellpose4_grid import MAKE_WEIGHTS

    subprocess.run([sys.executable, "-c", MAKE_WEIGHTS, str(path)], check=True)


if __name__ == "__main__":
    sys.exit(main())

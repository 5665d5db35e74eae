"""Claim: the backend sparse finds laptrack's links in a seventh of the time at 100 cells a frame.

At 1,000 cells it takes a thirtieth; where few cells are lost, a third at 100. Made-up cells that
wander, divide and are lost, and the real nuclei of ../shared/data/hela-tracking where they are
there; processor time after the imports, one thread, median, the two in turn.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tifffile

from pyscale_stages.track import linking
from pyscale_stages.track.distances import Distances, median_diameter_px
from pyscale_stages.track.lineage import Detections, detect, joined
from pyscale_stages.track.params import TrackParams

HELA = Path(__file__).resolve().parents[2] / "shared" / "data" / "hela-tracking"
SIZES = ((100, 10, 7, 7.0), (1_000, 10, 3, 30.0), (3_000, 5, 1, 30.0))
"""Cells a frame, frames, repeats, and the ratio that is claimed."""
OF_HELA = 3.0
IMPORTS = {
    "laptrack": "import laptrack",
    "sparse": "import scipy.sparse.csgraph, scipy.spatial",
}
IMPORT_REPEATS = 3


def main() -> int:
    """Print both backends side by side; fail where the claim does not hold."""
    imports()
    linking.link_by_laptrack(next(movies())[1], 0, 10, TrackParams(), Distances(20, 20, 20))
    linking.import_scipy()
    print(f"\n{'CPU-s':32}{'laptrack':>10}{'sparse':>10}{'ratio':>8}  links")
    holds = True
    for name, cells, distances, repeats, claimed in movies():
        took: tuple[list[float], list[float]] = ([], [])
        for repeat in range(repeats):
            for which in (0, 1) if repeat % 2 else (1, 0):
                began = time.process_time()
                if which:
                    links = linking.link_sparsely(cells, TrackParams(), distances)
                else:
                    stop = int(cells.frame[-1]) + 1
                    expected = linking.link_by_laptrack(cells, 0, stop, TrackParams(), distances)
                took[which].append(time.process_time() - began)
        first, second = map(statistics.median, took)
        same = np.array_equal(links, expected)
        holds = holds and same and first / second >= claimed
        print(
            f"{name:32}{first:10.3f}{second:10.3f}{first / second:8.1f}  "
            f"{len(links)}, {'the same' if same else 'NOT the same'}",
            flush=True,
        )
    return 0 if holds else 1


def imports() -> None:
    """Print what each backend loads beside NumPy."""
    took: dict[str, list[float]] = {"none": [], **{name: [] for name in IMPORTS}}
    for _ in range(IMPORT_REPEATS):
        for name, code in {"none": "pass", **IMPORTS}.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", f"import numpy; {code}"], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            took[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    base = statistics.median(took.pop("none"))
    for name, seconds in took.items():
        print(f"importing {name}: {statistics.median(seconds) - base:.2f} CPU-s beside NumPy")


def movies() -> Iterator[tuple[str, Detections, Distances, int, float]]:
    """Cells, how far they may move, repeats, and the ratio that is claimed."""
    for n_cells, n_frames, repeats, claimed in SIZES:
        name = f"{n_cells} cells x {n_frames} frames"
        yield name, made_up(n_cells, n_frames), Distances(20, 20, 20), repeats, claimed
    if HELA.is_dir():
        masks = [tifffile.imread(file).squeeze() for file in sorted(HELA.glob("mask*.tif"))]
        reach_px = median_diameter_px(masks[0])
        cells = joined(detect(mask, frame) for frame, mask in enumerate(masks))
        name = f"{HELA.name}, {len(masks)} frames"
        yield name, cells, Distances(reach_px, reach_px, reach_px), 1, OF_HELA


def made_up(n_cells: int, n_frames: int) -> Detections:
    """Cells 30 px apart on average, of which one in 20 is lost and one in 50 divides each frame."""
    random = np.random.default_rng(0)
    centres = random.uniform(0, 30 * np.sqrt(n_cells), (n_cells, 2))
    frames = []
    for _ in range(n_frames):
        daughters = centres[random.random(len(centres)) < 0.02]
        moved = centres + random.normal(0, 2, centres.shape)
        centres = np.concatenate([moved, daughters + random.normal(0, 6, daughters.shape)])
        frames.append(centres[random.random(len(centres)) > 0.05])
    counts = [len(frame) for frame in frames]
    labels = np.concatenate([np.arange(count) + 1 for count in counts])
    y_px, x_px = np.concatenate(frames).T
    return Detections(np.repeat(np.arange(n_frames), counts), labels, y_px, x_px)


if __name__ == "__main__":
    sys.exit(main())

"""Claim: the defaults of tracking hold on real and synthetic cells, whole, sparse and with losses.

Prints the precision and recall of links and divisions and the processor time of each way to track,
side by side, on the real labels of ../shared/data/hela-tracking where they are there, on a
synthetic movie, and on every folder of the Cell Tracking Challenge's form that is named:
`python benchmarks/quality_tracking.py [FOLDER …]`. Labels are drawn anew in each frame, so that
they tell nothing. The table of hela-tracking is a tracker's: agreement with it is not truth.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import tifffile

from pyscale_stages.movie import Movie
from pyscale_stages.moviewriter import write_movie
from pyscale_stages.synth.movie import SynthParams, write_synthetic_movie
from pyscale_stages.track import linking
from pyscale_stages.track.agreement import link_quality
from pyscale_stages.track.distances import distances_of
from pyscale_stages.track.lineage import Tracks, detect, joined, tracks_of
from pyscale_stages.track.overlap_backend import OverlapLinker
from pyscale_stages.track.params import TrackParams

Masks = npt.NDArray[np.uint16]
Parents = dict[int, int]

HELA = Path(__file__).resolve().parents[2] / "shared" / "data" / "hela-tracking"
SYNTHETIC = SynthParams(frames=40, cell_types=1, cells=150, division_rate=0.02, speed_px=3.0)
DROPPED = 0.05
WAYS = {
    "15 px, no divisions": TrackParams(max_distance_px=15, gap_distance_px=15, splitting=False),
    "laptrack (default)": TrackParams(),
    "overlap": TrackParams(backend="overlap"),
}
MEASURES = ("link_precision", "link_recall", "division_precision", "division_recall")


def main(folders: list[Path]) -> int:
    """Print one line for each movie, condition and way."""
    import laptrack  # noqa: F401 - so that its import is not timed

    head = ("links P", "links R", "divisions P", "divisions R", "CPU ms a frame")
    print(f"{'':<16}{'':<20}{'':<22}" + "".join(f"{name:>16}" for name in head))
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        for movie, (masks, parents) in movies(folders, scratch):
            for condition, part in conditions(masks):
                truth = write_truth(part, parents, scratch / "truth")
                labels = scratch / "labels.ome.tif"
                write_movie(labels, shuffled(part), "TYX")
                for way, params in WAYS.items():
                    found, cpu_s = tracked(Movie.open(labels), params)
                    quality = link_quality(found, truth, (0, len(part)))
                    shares = "".join(f"{quality.get(m, float('nan')):>16.4f}" for m in MEASURES)
                    print(
                        f"{movie:<16}{condition:<20}{way:<22}{shares}"
                        f"{1e3 * cpu_s / len(part):>16.1f}",
                        flush=True,
                    )
    return 0


def movies(folders: list[Path], scratch: Path) -> Iterator[tuple[str, tuple[Masks, Parents]]]:
    """Masks whose labels are tracks, and the parent of each track."""
    for folder in [*([HELA] if HELA.is_dir() else []), *folders]:
        (table,) = folder.glob("*_track.txt")
        masks = np.stack([tifffile.imread(file) for file in sorted(folder.glob("*.tif"))])
        rows = np.loadtxt(table, dtype=int)
        yield folder.name, (masks, {row[0]: row[3] for row in rows.tolist()})
    synthetic = write_synthetic_movie(scratch / "synthetic", SYNTHETIC) / "truth" / "camera"
    labels = Movie.open(synthetic / "labels_ch0.ome.tif")
    rows = pl.read_parquet(synthetic / "tracks.parquet").select("track_id", "parent_id").rows()
    yield "synthetic", (labels.read(0, labels.n_frames, channel=0), dict(rows))


def conditions(masks: Masks) -> Iterator[tuple[str, Masks]]:
    """The movie whole, with cells that were not segmented, and at lower frame rates."""
    yield "all", masks
    random = np.random.default_rng(1)
    lossy = masks.copy()
    for frame in lossy:
        lost = random.random(int(frame.max()) + 1) < DROPPED
        frame[lost[frame]] = 0
    yield f"{DROPPED:.0%} dropped", lossy
    for every in (2, 3):
        yield f"every {every} frames", masks[::every]


def write_truth(masks: Masks, parents: Parents, folder: Path) -> Path:
    """Write the truth of a movie as a synthetic one has it; a parent must be in view."""
    folder.mkdir(exist_ok=True)
    cells = joined(detect(mask, frame) for frame, mask in enumerate(masks))
    seen = set(cells.label.tolist())
    parent = [parents.get(label, 0) for label in cells.label.tolist()]
    pl.DataFrame(
        {
            "channel": np.zeros(len(cells), dtype=np.int32),
            "track_id": cells.label,
            "parent_id": [one if one in seen else 0 for one in parent],
            "frame": cells.frame,
            "y_px": cells.y_px,
            "x_px": cells.x_px,
        }
    ).write_parquet(folder / "tracks.parquet")
    return folder


def shuffled(masks: Masks) -> Masks:
    """Give the cells of each frame labels in random order."""
    random = np.random.default_rng(20)
    anew = np.empty_like(masks)
    for frame, mask in enumerate(masks):
        ids = np.unique(mask[mask > 0])
        table = np.zeros(int(mask.max()) + 1, dtype=masks.dtype)
        table[ids] = random.permutation(len(ids)) + 1
        anew[frame] = table[mask]
    return anew


def tracked(labels: Movie, params: TrackParams) -> tuple[Tracks, float]:
    """Tracks of a movie, and the processor time after its labels were read."""
    frames = labels.read(0, labels.n_frames, channel=0)
    distances = distances_of(labels, params)
    start_s = time.process_time()
    overlaps = OverlapLinker(params)
    cells = []
    for frame, image in enumerate(frames):
        cells.append(detect(image, frame))
        if params.backend == "overlap":
            overlaps.add(image, cells[-1])
    found = joined(cells)
    if params.backend == "overlap":
        links = overlaps.links
    else:
        links = linking.link_by_laptrack(found, 0, len(frames), params, distances)
    return tracks_of(found, links), time.process_time() - start_s


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]]))

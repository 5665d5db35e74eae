"""Claim: the stage's compute costs at most 3 % more than calling Cellpose directly.

Both label the same frames with the same network in one warm process; repeats are paired and
interleaved, and each pair's order alternates, so that drift of the machine hits both alike.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from cellpose.models import CellposeModel

from pyscale_stages.contract import TaskSpec
from pyscale_stages.measure.spans import SpanRecorder
from pyscale_stages.movie import Movie
from pyscale_stages.segment import calls
from pyscale_stages.segment.networks import Cellpose3Segmenter
from pyscale_stages.segment.params import EMBEDDED_MODEL, SegmentParams, embedded_model
from pyscale_stages.segment.stage import STAGE
from pyscale_stages.synth.movie import SynthParams, write_synthetic_movie
from pyscale_stages.task import Task

PAIRS = 15
BAR = 1.03
MOVIE = SynthParams(
    seed=3, frames=3, height_px=256, width_px=256, cells=50, cell_types=1, division_rate=0
)


def main() -> int:
    """Print both medians and their ratio; fail above the bar."""
    with TemporaryDirectory() as folder:
        write_synthetic_movie(Path(folder) / "movie", MOVIE)
        movie = Path(folder) / "movie" / "movie.ome.tif"
        arms = (stage_arm(movie, Path(folder) / "out"), direct_arm(movie))
        for arm in arms:
            arm()
        times: tuple[list[float], list[float]] = ([], [])
        for pair in range(PAIRS):
            for which in (0, 1) if pair % 2 else (1, 0):
                times[which].append(arms[which]())
    return report(*times)


def stage_arm(movie: Path, output: Path) -> Callable[[], float]:
    """Run the whole stage; answer the sum of its compute spans in seconds."""

    def arm() -> float:
        recorder = SpanRecorder(time.monotonic())
        spec = TaskSpec(stage="segment", inputs=(("frames", movie),), output=output)
        STAGE.run(Task(STAGE, spec, SegmentParams(), recorder))
        return sum(span.wall_s for span in recorder.spans if span.phase == "compute")

    return arm


def direct_arm(movie: Path) -> Callable[[], float]:
    """Call `CellposeModel.eval` on the same frames as any script would; answer its seconds."""
    cpu = calls.prepared_device("cpu", threads=1, seed=0)
    frames = list(Movie.open(movie).read(0, MOVIE.frames, channel=0))

    def arm() -> float:
        # A new network is converted on its first call; the stage builds one in every task.
        model: CellposeModel = Cellpose3Segmenter(embedded_model(EMBEDDED_MODEL), cpu).model
        # The stage asks for reproducible kernels; whoever calls Cellpose directly does not.
        torch.set_deterministic_debug_mode("default")
        start = time.monotonic()
        model.eval(frames, channels=[0, 0])
        return time.monotonic() - start

    return arm


def report(stage: Sequence[float], direct: Sequence[float]) -> int:
    """Print what was measured and whether the claim holds."""
    stage_s, direct_s = statistics.median(stage), statistics.median(direct)
    ratio = stage_s / direct_s
    print(
        f"{MOVIE.frames} frames of {MOVIE.height_px} x {MOVIE.width_px} px, {PAIRS} pairs, 1 thread"
    )
    print(f"stage compute         {stage_s:8.3f} s (median)")
    print(f"CellposeModel.eval    {direct_s:8.3f} s (median)")
    print(f"ratio of medians      {ratio:8.3f}   bar {BAR}")
    return 0 if ratio <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())

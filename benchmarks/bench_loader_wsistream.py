"""The stage measures the rate that wsistream's own benchmark measures.

Both load the same made-up slides with the same settings, one by the data set of wsistream's
documentation and the other by the shipped one, which copies wsistream's window: the two medians lie
in each other's intervals.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from torch.utils.data import Dataset
from wsistream.backends import OpenSlideBackend
from wsistream.benchmark import benchmark_throughput
from wsistream.sampling import RandomSampler
from wsistream.tissue import OtsuTissueDetector
from wsistream.torch import WsiStreamDataset

from pyscale.analysis.intervals import Interval, median_interval
from pyscale_stages.contract import TaskSpec
from pyscale_stages.loader.stage import STAGE
from pyscale_stages.loading import Loading
from pyscale_stages.measure.spans import SpanRecorder
from pyscale_stages.runner import run_task
from pyscale_stages.slides.synthetic import SlidesParams, write_slides

SLIDES = SlidesParams(slides=4, height_px=4096, width_px=4096)
SEED = 42
REPEATS = 9
AS_PUBLISHED: dict[str, Any] = {
    "num_workers": 1,
    "pool_size": 4,
    "patches_per_slide": 100,
    "patches_per_visit": 1,
    "batch_size": 32,
    "prefetch_factor": 2,
    "pin_memory": False,
    "warmup_batches": 4,
}
BATCHES = 16


def main() -> int:
    """Print both rates; fail where they differ."""
    with TemporaryDirectory() as folder:
        slides = write_slides(Path(folder) / "slides", SLIDES)
        numbers = count()

        def stage() -> float:
            return by_the_stage(slides, Path(folder) / f"output-{next(numbers)}")

        rates = in_turn((lambda: by_wsistream(slides), stage), REPEATS)
    return 0 if rates_agree(rates) else 1


def make_dataset(
    slide_paths: list[str],
    pool_size: int,
    patches_per_slide: int,
    patches_per_visit: int,
    seed: int,
) -> Dataset[Any]:
    """Make the data set of wsistream's documentation."""
    dataset: Dataset[Any] = WsiStreamDataset(
        slide_paths=slide_paths,
        backend=OpenSlideBackend(),
        tissue_detector=OtsuTissueDetector(),
        sampler=RandomSampler(patch_size=256),
        pool_size=pool_size,
        patches_per_slide=patches_per_slide,
        patches_per_visit=patches_per_visit,
        cycle=True,
        seed=seed,
    )
    return dataset


def by_the_stage(slides: Path, output: Path) -> float:
    """Run the stage in this process; answer its patches per second."""
    spec = TaskSpec(
        stage="loader",
        inputs=(("slides", slides),),
        output=output,
        params={
            "opening": "published",
            "batches": BATCHES,
            "checksum_batches": 0,
            "start_method": "spawn",
            **AS_PUBLISHED,
        },
        seed=SEED,
    )
    result = run_task(STAGE, spec, SpanRecorder(time.monotonic()), None)
    if result.error is not None:
        raise SystemExit(f"the stage failed: {result.error}")
    (loading,) = result.of(Loading)
    return loading.free.patches / loading.free.wall_s


def by_wsistream(slides: Path) -> float:
    """Run wsistream's own benchmark; answer its patches per second."""
    (result,) = benchmark_throughput(
        make_dataset, slides, **AS_PUBLISHED, measure_batches=BATCHES, seed=SEED, verbose=False
    )
    return float(result.effective_sync_throughput)


def rates_agree(rates: tuple[list[float], list[float]]) -> bool:
    """Whether stage and wsistream measure the same rate."""
    intervals = [interval_of(values) for values in rates]
    print(f"patches per second of wsistream's data set, {AS_PUBLISHED}")
    for name, values, interval in zip(("wsistream", "the stage"), rates, intervals, strict=True):
        print(
            f"  measured by {name:<10} median {statistics.median(values):8.1f}   "
            f"[{interval.low:.1f}, {interval.high:.1f}], {interval.coverage:.1%}"
        )
    theirs, ours = (statistics.median(values) for values in rates)
    pairs = [b / a for a, b in zip(*rates, strict=True)]
    agree = (
        intervals[1].low <= theirs <= intervals[1].high
        and intervals[0].low <= ours <= intervals[0].high
    )
    print(
        f"  stage beside wsistream: median of paired ratios {statistics.median(pairs):.3f}, "
        f"{len(pairs)} pairs; each median {'lies' if agree else 'does not lie'} in the other's "
        "interval"
    )
    return agree


def in_turn(
    arms: tuple[Callable[[], float], Callable[[], float]], repeats: int
) -> tuple[list[float], list[float]]:
    """Do both in turn, A B B A …, so that a drift of the machine hits both."""
    found: tuple[list[float], list[float]] = ([], [])
    for repeat in range(repeats):
        for which in (0, 1) if repeat % 2 == 0 else (1, 0):
            found[which].append(arms[which]())
    return found


def interval_of(values: list[float]) -> Interval:
    """Interval of the median."""
    interval = median_interval(values)
    assert interval is not None
    return interval


if __name__ == "__main__":
    sys.exit(main())

"""Strong and weak scaling: how the work of a curve grows with its number of workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose
from typing import Literal

import polars as pl

ScalingKind = Literal["strong", "weak", "mixed"]


@dataclass(frozen=True)
class CurveWork:
    """Median work of a trial at each N; `kind` is None with one N, or where any is unknown."""

    kind: ScalingKind | None
    by_workers: dict[int, float | None]

    def growth(self, workers: int) -> float:
        """Work at N over that of the baseline; 1 where the work is the same or not known."""
        if self.kind is None or self.kind == "strong":
            return 1.0
        base, here = self.by_workers[min(self.by_workers)], self.by_workers[workers]
        # A curve of a kind has the work of every N.
        assert base is not None
        assert here is not None
        return here / base


def curve_work(timed: pl.DataFrame) -> CurveWork:
    """Find the work of a curve at each N, and its growth."""
    # Of no work there is no multiple, so that it is as unknown.
    known = pl.when(pl.col("work") > 0).then("work")
    medians = timed.group_by("workers").agg(
        pl.when(known.is_not_null().all()).then(known.median()).alias("work")
    )
    by_workers: dict[int, float | None] = dict(medians.sort("workers").iter_rows())
    return CurveWork(_kind(by_workers), by_workers)


def scaled_serial_fraction(speedup: float, workers: int) -> float:
    """Share of the time that is serial where work grows: `(N - S) / (N - 1)` (Gustafson 1988)."""
    return (workers - speedup) / (workers - 1)


def _kind(by_workers: dict[int, float | None]) -> ScalingKind | None:
    works = [work for work in by_workers.values() if work is not None]
    if len(by_workers) < 2 or len(works) < len(by_workers):
        return None
    if _tie(works):
        return "strong"
    of_each_worker = [work / workers for work, workers in zip(works, by_workers, strict=True)]
    return "weak" if _tie(of_each_worker) else "mixed"


def _tie(values: Sequence[float]) -> bool:
    """Whether all are the same but for rounding."""
    return isclose(min(values), max(values))

"""Growth of work with N, and losses of efficiency: exact decompositions after the POP metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any, Literal

import polars as pl
from pydantic import Field

from pyscale.analysis.declared import REAL, TEXT, WHOLE, columns
from pyscale.analysis.workers import TASK_PHASES
from pyscale_stages.contract import Record

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


GROUP = ("suite", "stage", "device")
"""What one scaling curve belongs to; the worker count varies along it."""


def in_curve(key: Mapping[str, Any]) -> pl.Expr:
    """Whether a row belongs to the curve of these values of `GROUP`, any of which may be None."""
    return pl.all_horizontal(pl.col(name).eq_missing(pl.lit(key[name])) for name in GROUP)


class OfCurve(Record):
    """A finding of one curve."""

    suite: str | None = Field(description="Suite of the curve")
    stage: str = Field(description="Stage of the curve")
    device: str | None = Field(description="Device of the curve")

    @property
    def curve(self) -> dict[str, str | None]:
        """Values of `GROUP`."""
        return {name: getattr(self, name) for name in GROUP}


def middle_trials(trials: pl.DataFrame) -> pl.DataFrame:
    """Return the one or two trials of a configuration whose wall time is the median.

    Medians of parts do not add up to the median of the whole, but whatever holds exactly and
    linearly in each trial holds exactly for the mean of these (`workers * T` = idle + compute +
    every other phase), and the mean of their wall times is the median.
    """
    # Ties are put in one order, so that the same trials are the middle ones every time.
    ordered = trials.sort("wall_s", "block", "trial")
    count = ordered.height
    # One of an odd number of trials, and the two middle ones of an even number.
    return ordered.slice((count - 1) // 2, 2 - count % 2)


def sums(trials: pl.DataFrame) -> dict[str, float | None]:
    """Worker-seconds of one configuration, from its middle trials; None where not all have it."""
    middle = middle_trials(trials)
    return {
        name: None if middle[name].null_count() else float(middle[name].to_numpy().mean())
        for name in ("workers", "wall_s", "merge_s", "busy_s", "useful_s")
    }


def factors(
    own: Mapping[str, Any], base: Mapping[str, Any], *, growth: float = 1.0
) -> dict[str, float | None]:
    """Split the efficiency of `own` over `base`: `E = LB/LB0 * CS * US/US0`, exactly.

    Load balance is `sum t / (N * T)`, useful share `sum u / sum t`, computation scaling
    `growth * sum u(N0) / sum u(N)`. Where no phases were recorded the times of whole tasks
    stand in for u: then there is no useful share, and `E = LB/LB0 * CS` still holds exactly.
    """
    busy_s, useful_s = own["busy_s"], own["useful_s"]
    found = dict.fromkeys(("load_balance", "computation_scaling", "useful_share"))
    if busy_s is None:
        return found
    found |= {"load_balance": busy_s / (own["workers"] * own["wall_s"])}
    if useful_s and base["useful_s"]:
        scaling = growth * base["useful_s"] / useful_s
        return found | {"computation_scaling": scaling, "useful_share": useful_s / busy_s}
    if base["busy_s"] is not None:
        found |= {"computation_scaling": growth * base["busy_s"] / busy_s}
    return found


def loss_table(trials: pl.DataFrame) -> pl.DataFrame:
    """Split the growth of worker-seconds over the baseline into idle time and phases.

    `N * T(N) - g * N0 * T(N0)` is the growth of idle time plus the growth of every phase,
    `unattributed` among them, where g is the work over the baseline's: what `growth_s` leaves is
    time that the work alone does not explain. The parts of a configuration sum to `N * T` exactly
    (see `middle_trials`). Where no phases were recorded they are `idle` and `busy`; a curve without
    the times of single tasks has no rows.
    """
    rows: list[dict[str, object]] = []
    for _, curve in trials.filter("valid").group_by(GROUP, maintain_order=True):
        parts = _parts(curve)
        work = curve_work(curve)
        base: dict[str, float] | None = None
        for (workers,), own in curve.sort("workers").group_by("workers", maintain_order=True):
            middle = middle_trials(own)
            here = {part: float(middle[column].to_numpy().mean()) for part, column in parts.items()}
            # N rises, so the first is the baseline.
            base = base or here
            rows += [
                {
                    **{key: curve[key][0] for key in GROUP},
                    "workers": workers,
                    "baseline_workers": curve["workers"].min(),
                    "part": part,
                    "worker_seconds": here[part],
                    "growth_s": here[part] - work.growth(workers) * base[part],
                }
                for part in parts
            ]
    schema = columns(
        (TEXT, " ".join(GROUP)),
        (WHOLE, "workers baseline_workers"),
        (TEXT, "part"),
        (REAL, "worker_seconds growth_s"),
    )
    return pl.DataFrame(rows, schema)


def _parts(curve: pl.DataFrame) -> dict[str, str]:
    """Part and column of the finest decomposition that every trial of a curve allows."""
    if not curve["useful_s"].null_count():
        others = (phase for phase in TASK_PHASES if phase != "compute")
        return {
            "idle": "idle_s",
            "compute": "phase_compute_s",
            **{phase: f"phase_{phase}_s" for phase in others},
            "unattributed": "unattributed_s",
        }
    return {} if curve["busy_s"].null_count() else {"idle": "idle_s", "busy": "busy_s"}

"""Losses of efficiency: exact decompositions after the POP metrics, for independent workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl
from pydantic import Field

from pyscale.analysis.growth import curve_work
from pyscale.analysis.schema import REAL, TEXT, WHOLE, columns
from pyscale.analysis.workers import TASK_PHASES
from pyscale_stages.contract import Record

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


class Sums(NamedTuple):
    """Representative worker-seconds of one configuration; None where nothing recorded it."""

    workers: int
    wall_s: float
    merge_s: float | None
    busy_s: float | None
    useful_s: float | None


class Factors(NamedTuple):
    """Parts of an efficiency: `E = LB/LB0 * CS * US/US0`, exactly."""

    load_balance: float | None
    computation_scaling: float | None
    useful_share: float | None


def middle_trials(trials: pl.DataFrame) -> pl.DataFrame:
    """Return the one or two trials of a configuration whose wall time is the median.

    Medians of parts do not add up to the median of the whole. So a configuration is
    represented by its middle trial by wall time or, with an even number of trials, by the
    mean over the two middle ones. The mean of their wall times is the median, and whatever
    holds exactly and linearly in each trial (`workers * T` = idle + compute + every other
    phase) holds exactly for their mean; no part can be negative or be measured in one trial
    and subtracted in another.

    There must be at least one trial.
    """
    ordered = trials.sort("wall_s", "block", "trial")
    count = ordered.height
    return ordered.slice((count - 1) // 2, 2 - count % 2)


def sums(trials: pl.DataFrame) -> Sums:
    """Worker-seconds of one configuration, from its middle trials."""
    middle = middle_trials(trials)
    return Sums(
        workers=int(middle["workers"][0]),
        wall_s=float(middle["wall_s"].to_numpy().mean()),
        merge_s=_mean(middle, "merge_s"),
        busy_s=_mean(middle, "busy_s"),
        useful_s=_mean(middle, "useful_s"),
    )


def factors(own: Sums, base: Sums, *, growth: float = 1.0) -> Factors:
    """Split the efficiency of `own` relative to `base` into three factors.

    Load balance is `sum t / (N * T)`, useful share `sum u / sum t`, computation scaling
    `growth * sum u(N0) / sum u(N)`. Where no phases were recorded the times of whole tasks
    stand in for u: then computation scaling is `growth * sum t(N0) / sum t(N)`, there is no
    useful share, and `E = LB/LB0 * CS` still holds exactly.
    """
    load_balance = own.busy_s / (own.workers * own.wall_s) if own.busy_s is not None else None
    if own.useful_s and base.useful_s and own.busy_s is not None:
        scaling = growth * base.useful_s / own.useful_s
        return Factors(load_balance, scaling, own.useful_s / own.busy_s)
    if own.busy_s is not None and base.busy_s is not None:
        return Factors(load_balance, growth * base.busy_s / own.busy_s, None)
    return Factors(load_balance, None, None)


def loss_table(trials: pl.DataFrame) -> pl.DataFrame:
    """Split the growth of worker-seconds over the baseline into idle time and phases.

    `N * T(N) - g * N0 * T(N0)` is the growth of idle time plus the growth of compute plus the
    growth of every other phase, `unattributed` among them. g is the work over the baseline's
    (see `pyscale.analysis.growth`), 1 in strong scaling: what `growth_s` leaves is time that the
    work alone does not explain. The parts of a configuration sum to `N * T` exactly (see
    `middle_trials`).

    Parts are `idle` and the phases, a row each; where no phases were recorded, `idle` and `busy`; a
    curve without the times of single tasks has no rows.
    """
    rows: list[dict[str, object]] = []
    for _, curve in trials.filter("valid").group_by(GROUP, maintain_order=True):
        parts = _parts(curve)
        work = curve_work(curve)
        base: dict[str, float] | None = None
        for (workers,), own in curve.sort("workers").group_by("workers", maintain_order=True):
            middle = middle_trials(own)
            here = {part: float(middle[column].to_numpy().mean()) for part, column in parts.items()}
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


def _mean(middle: pl.DataFrame, column: str) -> float | None:
    """Mean over the middle trials; None unless each of them has the value."""
    return None if middle[column].null_count() else float(middle[column].to_numpy().mean())

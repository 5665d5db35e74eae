"""Findings of one grid: ratios to a base at each point, from which size on one wins, how far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from pyscale.analysis.declared import FLAG, REAL, TEXT, WHOLE, columns
from pyscale.analysis.findings import PointFindings
from pyscale.analysis.grid.parts import COMPARED, PART_SCHEMA, call_parts, samples, unaided
from pyscale.analysis.grid.points import SIZE, grid_points, points_of, points_of_table
from pyscale.analysis.intervals import CONFIDENCE, Array, ratio_interval_by_block, with_ends
from pyscale_stages.contract import Record


@dataclass(frozen=True)
class GridFindings(PointFindings):
    """Findings of one grid."""

    kind: ClassVar = "grid"
    work: ClassVar = "split"

    family: str
    """The entry of the suite with the grid; of a table its stage."""
    versus: str | None
    """The axis whose values are compared with its first (device)."""
    against: str | None
    """The one that results are drawn against (length_px)."""
    ratios: pl.DataFrame
    """Empty without versus."""
    ceilings: tuple[Ceiling, ...]
    """One for each curve of ratios over size, and none where `against` is no size; as `wins`."""
    wins: tuple[Win, ...]
    parts: pl.DataFrame
    """Empty where calls have no parts."""
    unaided: pl.DataFrame

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Points, ratios and parts of calls."""
        return {"points": self.points, "ratios": self.ratios, "parts": self.parts}


def grid_findings(
    tasks: pl.DataFrame,
    calls: pl.DataFrame,
    trials: pl.DataFrame,
    configurations: pl.DataFrame,
    *,
    versus: str | None,
    against: str | None,
    entries: Sequence[str] = (),
) -> tuple[GridFindings, ...]:
    """Find the results of each grid of a run; its base is versus' first value in the suite."""
    times = samples(calls, trials)
    found = []
    for points in points_of(tasks, entries).values():
        table = grid_points(
            *(tasks, calls, trials, configurations, times),
            points=points,
            versus=versus,
            against=against,
        )
        found.append(_found(table, times, call_parts(calls, table, trials), versus, against))
    return tuple(found)


def grid_findings_of_table(table: pl.DataFrame, name: str) -> tuple[GridFindings, ...]:
    """Find the results of a table of times by device and size, one `GridFindings` a stage."""
    points, times = points_of_table(table, name)
    return tuple(
        _found(own, times, pl.DataFrame(schema=PART_SCHEMA), "device", SIZE)
        for own in points.partition_by("family", maintain_order=True)
    )


def _found(
    points: pl.DataFrame,
    times: pl.DataFrame,
    parts: pl.DataFrame,
    versus: str | None,
    against: str | None,
) -> GridFindings:
    compared = ratios(points, times)
    by_size = against == SIZE
    return GridFindings(
        family=points["family"][0],
        versus=versus,
        against=against,
        points=points,
        ratios=compared,
        ceilings=tuple(ceilings(compared)) if by_size else (),
        wins=tuple(wins(compared)) if by_size else (),
        parts=parts,
        unaided=unaided(parts),
    )


def ratios(points: pl.DataFrame, times: pl.DataFrame) -> pl.DataFrame:
    """Compare every point with its base: base time / own time, so that above 1 it is faster."""
    rows = []
    for own in points.drop_nulls("base_stage").iter_rows(named=True):
        base = points.filter(stage=own["base_stage"], workers=own["workers"])
        if base.is_empty():
            continue
        for measure in COMPARED:
            base_s, own_s = base[f"{measure}_s"][0], own[f"{measure}_s"]
            if base_s is None or own_s is None:
                continue
            one = times.filter(workers=own["workers"], measure=measure)
            there, here = one.filter(stage=own["base_stage"]), one.filter(stage=own["stage"])
            interval = ratio_interval_by_block(there, here, "time_s")
            rows.append(
                {key: own[key] for key in RATIO_SCHEMA if key in own}
                | {
                    "measure": measure,
                    "base_s": base_s,
                    "value_s": own_s,
                    **with_ends("ratio", base_s / own_s, interval),
                    "trials": min(there.height, here.height),
                    "invalid": own["invalid"] or base["invalid"][0],
                }
            )
    return pl.DataFrame(rows, schema=RATIO_SCHEMA)


RATIO_SCHEMA = columns(
    (TEXT, "suite family series"),
    (WHOLE, "workers"),
    (TEXT, "value base measure"),
    (WHOLE, "pixels"),
    (REAL, "megapixels length_px base_s value_s ratio ratio_low ratio_high"),
    (WHOLE, "trials"),
    (FLAG, "invalid"),
)


Shape = Literal["flattens", "logarithmic", "undecided"]

LEAST_SIZES = 4
"""Two parameters, and two degrees of freedom to see the error by."""
POOR_FIT = 0.10
"""Root mean square by which the law may miss the ratios, as a fraction of its ceiling."""
DECIDED = 6.0
"""Difference of AICc from which one law is taken: it is then 20 times as likely as the other."""
TIMED_TO = 1e-6
"""Relative error of any ratio: a curve without noise is not known better."""


class Saturation(Record):
    """Result of a fit; without a ceiling where it was refused."""

    ceiling: float | None = Field(None, description="What the ratio reaches")
    low: float | None = Field(None, description="Lower end of its 95 % interval")
    high: float | None = Field(None, description="Upper end of its 95 % interval")
    shape: Shape | None = Field(
        None,
        description="Which law describes the ratios: this one, `a + b ln A`, or either; None "
        "where neither does",
    )


CURVE = ("suite", "family", "series", "workers", "value", "base", "measure")
"""Columns that name one curve of ratios over size."""


class OverSizes(Record):
    """One curve of ratios, each of a size."""

    suite: str
    family: str
    series: str
    workers: int
    value: str
    base: str
    measure: str
    sizes: int = Field(description="Sizes with a ratio")
    smallest_px: float = Field(description="Smallest measured length of a square")
    largest_px: float


class Win(OverSizes):
    """Sizes at which one value of versus is faster than its base."""

    from_px: float | None = Field(
        description="Smallest measured length from which on it wins at every larger one too; None "
        "where it does not win at the largest"
    )
    not_at_px: float | None = Field(
        description="Largest measured length at which it does not win; None where it always wins"
    )
    sure: bool = Field(
        description="Whether every size from there on has an interval; False where some win by "
        "their ratio alone, and where none wins"
    )


class Ceiling(Saturation, OverSizes):
    """The law `ratio = ceiling * A / (A + half)` of one curve, A in megapixels."""


def wins(ratios: pl.DataFrame) -> list[Win]:
    """Find from where on each curve wins: the interval's low end, else the ratio, is above 1."""
    found = []
    for about, curve in _curves(ratios):
        rows = curve.to_dicts()
        least = [row["ratio"] if row["ratio_low"] is None else row["ratio_low"] for row in rows]
        losing = [row["length_px"] for row, ratio in zip(rows, least, strict=True) if ratio <= 1]
        # Sizes rise, so that the last one that loses is the largest.
        winning = [row for row in rows if not losing or row["length_px"] > losing[-1]]
        found.append(
            Win(
                **about,
                from_px=winning[0]["length_px"] if winning else None,
                not_at_px=losing[-1] if losing else None,
                sure=bool(winning) and all(row["ratio_low"] is not None for row in winning),
            )
        )
    return found


def ceilings(ratios: pl.DataFrame) -> list[Ceiling]:
    """Fit the law of a ceiling to every curve of ratios over size.

    A base takes a time in proportion to the area A of an image, `b A`; a device takes a time that
    does not depend on it too, `o + c A`. Their ratio is `(b / c) A / (A + o / c)`: it rises to the
    ceiling `b / c`, half of which is reached where `A = o / c`. Why ratios are fitted, and not
    times or logarithms, and which interval they have, is in docs/decisions, the ceiling of a
    speedup. Which law describes the ratios says AICc (Burnham and Anderson 2002, Model Selection
    and Multimodel Inference, section 2.4), with `a + b ln A` as the other: it grows without end.
    """
    return [
        Ceiling(
            **about,
            **dict(saturation(curve["megapixels"].to_list(), curve["ratio"].to_list())),
        )
        for about, curve in _curves(ratios)
    ]


def _curves(ratios: pl.DataFrame) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """Each curve by rising size, with the fields of `OverSizes`."""
    valid = ratios.filter(~pl.col("invalid")).drop_nulls("length_px")
    for key, curve in valid.group_by(CURVE, maintain_order=True):
        by_size = curve.sort("length_px")
        yield (
            dict(zip(CURVE, key, strict=True))
            | {
                "sizes": by_size.height,
                "smallest_px": by_size["length_px"][0],
                "largest_px": by_size["length_px"][-1],
            },
            by_size,
        )


def saturation(megapixels: Sequence[float], ratio: Sequence[float]) -> Saturation:
    """Fit `ratio = ceiling * A / (A + half)`, A in megapixels, by least squares in the ratio.

    The interval is Student's on the covariance that allows each size an error of its own (HC3,
    MacKinnon and White 1985, J. Econometrics 29:305): relative errors of times make those of large
    ratios larger. In 600 simulated curves each of 4 to 10 sizes it covered the ceiling in 92 to 98
    %, where the usual covariance gave 71 to 96 %.
    """
    area, measured = np.asarray(megapixels, dtype=float), np.asarray(ratio, dtype=float)
    solved = _solve(area, measured) if len(measured) >= LEAST_SIZES else None
    if solved is None:
        return Saturation()
    (ceiling, free_half), reach, residuals = solved
    slope, level = np.polyfit(np.log(area), measured, 1)
    logarithm = measured - level - slope * np.log(area)
    # Both laws have as many parameters, so that the corrections of AICc cancel.
    evidence = len(area) * float(np.log(_error(logarithm, measured) / _error(residuals, measured)))
    shape: Shape = "undecided"
    if abs(evidence) >= DECIDED:
        shape = "flattens" if evidence > 0 else "logarithmic"
    half, miss = max(free_half, 0.0), float(np.sqrt(np.mean(residuals**2))) / ceiling
    # A half that is surely below 0 is a ratio that falls.
    falls = free_half + reach[1] < 0 or (shape == "logarithmic" and slope < 0)
    if falls or (shape != "logarithmic" and miss > POOR_FIT):
        return Saturation()
    low, high = ceiling - reach[0], ceiling + reach[0]
    # More than half of the ceiling lies beyond the largest size, or the interval is no bound.
    if shape == "logarithmic" or half > area.max() or not low > 0:
        return Saturation(shape=shape)
    return Saturation(shape=shape, ceiling=ceiling, low=low, high=high)


def _solve(area: Array, measured: Array) -> tuple[list[float], list[float], Array] | None:
    """Ceiling and half, half-widths of their intervals, and residuals; None if not determined."""
    from scipy.optimize import least_squares
    from scipy.special import stdtrit

    # Scaled by these, both columns of slopes are about as large, and their rank means something.
    scale = np.array([measured.max(), area.max()])

    def misses(values: Array) -> Array:
        ceiling, half = values
        missed: Array = measured - ceiling * area / (area + half)
        return missed

    def jacobian(values: Array) -> Array:
        ceiling, half = values
        return np.column_stack((-area / (area + half), ceiling * area / (area + half) ** 2))

    solved = least_squares(
        misses,
        np.array([measured.max(), area.min()]),
        jac=jacobian,
        # A half below zero is a ratio that falls; further down the law has a pole.
        bounds=([0.0, -0.5 * float(area.min())], [np.inf, np.inf]),
        x_scale=scale,
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    slopes = np.asarray(solved.jac) * scale
    if not solved.success or np.linalg.matrix_rank(slopes) < len(scale):
        return None
    bread = np.linalg.inv(slopes.T @ slopes)
    leverage = np.einsum("ij,jk,ik->i", slopes, bread, slopes)
    errors = np.maximum(np.abs(solved.fun), TIMED_TO * measured)
    # One size may fix a parameter by itself, and then nothing is known of its error.
    if leverage.max() > 1 - TIMED_TO:
        return None
    # HC3: the closer a size draws the curve to itself, the more its residual hides.
    meat = (slopes.T * (errors / (1 - leverage)) ** 2) @ slopes
    covariance = bread @ meat @ bread
    quantile = stdtrit(len(area) - len(scale), (1 + CONFIDENCE) / 2)
    reach = quantile * np.sqrt(np.diag(covariance)) * scale
    return solved.x.tolist(), reach.tolist(), np.asarray(solved.fun)


def _error(residuals: Array, measured: Array) -> float:
    """Sum of squares, of which ratios without any noise have some too."""
    least = len(measured) * (TIMED_TO * float(measured.max())) ** 2
    return max(float((residuals**2).sum()), least)

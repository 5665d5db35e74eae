"""Number of ranks to request, and the component that limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from pyscale.analysis.reconstruct.columns import OBJECTIVE, TOTAL


@dataclass(frozen=True)
class ReconstructAnswer:
    """Recommendation for reconstructing one image.

    Attributes
    ----------
    stage, family, problem, size_px
        Which entry of the suite; None where a table does not tell.
    workers : int
        The N at the knee, as `pyscale.analysis.advice.choices` describes it: the largest speedup x
        efficiency of the total; of equal ones the fewest. Not by the work-normalised efficiency:
        margins of tiles that are denoised twice occupy a GPU all the same.
    is_last : bool
        Whether no larger N has a trial that counts: more may still help.
    baseline_workers, baseline_seconds
        N0, and an iteration with so many.
    seconds, speedup, speedup_low, speedup_high, efficiency, normalised_efficiency
        Of the total with `workers`, as `pyscale.analysis.reconstruct.columns.scaling_schema` says.
    next_workers, next_speedup, next_efficiency
        The next N with a trial that counts, which is not advised; None where there is none.
    limit : str or None
        The component that loses most against ideal scaling, by `loss_s`, with `limit_workers`;
        None where none loses.
    limit_workers : int
        `workers`, or where that is N0, where nothing is lost yet, the next N.
    limit_loss_s, limit_loss_share : float or None
        What that component loses in an iteration, and its share of the loss of all components
        that lose.
    margin_loss_s : float or None
        What the denoiser loses with `limit_workers` by the margins of tiles alone, as more pixels
        are denoised than with N0: more than all it loses where it was quicker besides. None where
        the numbers of pixels are not known.
    """

    stage: str
    family: str | None
    problem: str | None
    size_px: int | None
    workers: int
    is_last: bool
    baseline_workers: int
    baseline_seconds: float
    seconds: float
    speedup: float
    speedup_low: float | None
    speedup_high: float | None
    efficiency: float
    normalised_efficiency: float | None
    next_workers: int | None
    next_speedup: float | None
    next_efficiency: float | None
    limit: str | None
    limit_workers: int
    limit_loss_s: float | None
    limit_loss_share: float | None
    margin_loss_s: float | None


def reconstruct_answers(scaling: pl.DataFrame) -> tuple[ReconstructAnswer, ...]:
    """Answer for each entry of which a trial counts."""
    counted = scaling.filter(scaling["repeats"] > 0)
    return tuple(_answer(entry) for entry in counted.partition_by("stage", maintain_order=True))


def _answer(entry: pl.DataFrame) -> ReconstructAnswer:
    totals = list(entry.filter(entry["component"] == TOTAL).iter_rows(named=True))
    chosen = _chosen(totals)
    base, row = totals[0], totals[chosen]
    following = totals[chosen + 1] if chosen + 1 < len(totals) else None
    limited = following if chosen == 0 and following is not None else row
    return ReconstructAnswer(
        **{name: row[name] for name in ("stage", "family", "problem", "size_px", "workers")},
        is_last=following is None,
        baseline_workers=base["workers"],
        baseline_seconds=base["seconds"],
        **{name: row[name] for name in ("seconds", "speedup", "speedup_low", "speedup_high")},
        efficiency=row["efficiency"],
        normalised_efficiency=row["normalised_efficiency"],
        next_workers=following["workers"] if following else None,
        next_speedup=following["speedup"] if following else None,
        next_efficiency=following["efficiency"] if following else None,
        limit_workers=limited["workers"],
        **_limit(entry, limited["workers"]),
        margin_loss_s=_margin_loss_s(entry, limited["workers"]),
    )


def _chosen(totals: list[dict[str, Any]]) -> int:
    """Place of the number of ranks to request, among the rows of the total by rising N."""
    return max(
        range(len(totals)), key=lambda place: totals[place]["speedup"] * totals[place]["efficiency"]
    )


def _limit(entry: pl.DataFrame, workers: int) -> dict[str, Any]:
    """Component that loses most against ideal scaling."""
    parts = entry.filter(
        pl.col("workers") == workers,
        ~pl.col("component").is_in([TOTAL, OBJECTIVE]),
        pl.col("loss_s") > 0,
    ).sort("loss_s", descending=True, maintain_order=True)
    if parts.is_empty():
        return {"limit": None, "limit_loss_s": None, "limit_loss_share": None}
    most = parts.row(0, named=True)
    share = most["loss_s"] / parts["loss_s"].sum()
    return {"limit": most["component"], "limit_loss_s": most["loss_s"], "limit_loss_share": share}


def _margin_loss_s(entry: pl.DataFrame, workers: int) -> float | None:
    """Cost of more pixels alone for the denoiser, over the baseline's share of its time."""
    denoiser = entry.filter(entry["component"] == "denoiser")
    base = denoiser.row(0, named=True)
    here = next(row for row in denoiser.iter_rows(named=True) if row["workers"] == workers)
    if None in (here["work_multiplier"], base["work_multiplier"]):
        return None
    ideal_s = base["mean_seconds"] * base["workers"] / workers
    return float(ideal_s * (here["work_multiplier"] / base["work_multiplier"] - 1))

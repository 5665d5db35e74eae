"""Configuration to load with: the fastest that keeps a stated diversity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

COMPARABLE = ("workers", "patch_px", "mpp")
"""What points have in common whose rates and diversities can be set beside each other: as many
ranks, and patches of the same size."""
SPEED, DIVERSITY = "patches_per_s", "effective_slides"


def with_front(points: pl.DataFrame, *, keep: float) -> pl.DataFrame:
    """Add `on_front` and `keeps_diversity`.

    A point is on the front unless a comparable one is at least as fast and at least as diverse,
    and better in one of both. Of two that are equal in both, each is on it.
    """
    known = pl.col(SPEED).is_not_null() & pl.col(DIVERSITY).is_not_null()
    most = pl.col(DIVERSITY).filter(known).max().over(COMPARABLE)
    faster, diverse = pl.col(f"{SPEED}_other"), pl.col(f"{DIVERSITY}_other")
    as_good = (faster >= pl.col(SPEED)) & (diverse >= pl.col(DIVERSITY))
    better = (faster > pl.col(SPEED)) | (diverse > pl.col(DIVERSITY))
    numbered = points.with_row_index("_row")
    pairs = numbered.select("_row", *COMPARABLE, SPEED, DIVERSITY)
    beaten = (
        pairs.join(pairs, on=COMPARABLE, suffix="_other", nulls_equal=True)
        .filter(as_good & better)["_row"]
        .unique()
    )
    return numbered.with_columns(
        on_front=pl.when(known).then(~pl.col("_row").is_in(beaten.to_list())),
        keeps_diversity=pl.when(known).then(pl.col(DIVERSITY) >= keep * most),
    ).drop("_row")


@dataclass(frozen=True)
class LoaderAdvice:
    """The fastest of comparable points that keeps a stated diversity.

    Attributes
    ----------
    workers, stage
        N, and the entry of the suite.
    patches_per_s, low, high : float
        Its rate, and the ends of its interval; None below six trials.
    effective_slides, keeps : float
        Its diversity, and what share of the largest that is.
    most_diverse_stage : str
        The point with the largest diversity.
    fastest_stage, fastest_per_s
        The fastest point whatever its diversity, and its rate.
    given_up : float
        Share of that rate which keeping the diversity costs; 0 where it is the same point.
    as_fast : tuple of str
        Other points that keep the diversity and whose interval overlaps with its own, so that
        they may be as fast; all of them where intervals are not known.
    """

    workers: int
    stage: str
    patches_per_s: float
    low: float | None
    high: float | None
    effective_slides: float
    keeps: float
    most_diverse_stage: str
    fastest_stage: str
    fastest_per_s: float
    given_up: float
    as_fast: tuple[str, ...]


def loader_advices(points: pl.DataFrame) -> tuple[LoaderAdvice, ...]:
    """Advise for each set of comparable points."""
    known = points.filter(pl.col("on_front").is_not_null()).sort("workers", maintain_order=True)
    return tuple(_advice(own) for own in known.partition_by(COMPARABLE, maintain_order=True))


def _advice(points: pl.DataFrame) -> LoaderAdvice:
    # Of equally fast points the more diverse, and else the first of the suite.
    by_speed = points.sort(SPEED, DIVERSITY, descending=True, maintain_order=True)
    fastest = by_speed.row(0, named=True)
    chosen, *others = by_speed.filter("keeps_diversity").iter_rows(named=True)
    by_diversity = points.sort(DIVERSITY, SPEED, descending=True, maintain_order=True)
    most = by_diversity.row(0, named=True)
    return LoaderAdvice(
        workers=chosen["workers"],
        stage=chosen["stage"],
        patches_per_s=chosen[SPEED],
        low=chosen[f"{SPEED}_low"],
        high=chosen[f"{SPEED}_high"],
        effective_slides=chosen[DIVERSITY],
        keeps=chosen[DIVERSITY] / most[DIVERSITY],
        most_diverse_stage=most["stage"],
        fastest_stage=fastest["stage"],
        fastest_per_s=fastest[SPEED],
        given_up=1 - chosen[SPEED] / fastest[SPEED],
        as_fast=tuple(other["stage"] for other in others if _may_be_as_fast(other, chosen)),
    )


def _may_be_as_fast(other: dict[str, Any], chosen: dict[str, Any]) -> bool:
    """Whether intervals overlap; nothing is ruled out where one is not known."""
    high, low = other[f"{SPEED}_high"], chosen[f"{SPEED}_low"]
    return high is None or low is None or bool(high >= low)

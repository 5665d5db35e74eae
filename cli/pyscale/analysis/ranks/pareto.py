"""Configurations that trade diversity for speed, and the fastest that keeps a stated diversity."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from pyscale.analysis.findings import Row

COMPARABLE = ("workers", "patch_px", "mpp")
"""What points have in common whose rates and diversities can be set beside each other: as many
ranks, and patches of the same size."""
SPEED, DIVERSITY = "patches_per_s", "effective_slides"


def with_front(points: pl.DataFrame, *, keep: float) -> pl.DataFrame:
    """Add `on_front` and `keeps_diversity`: the share `keep` of the largest of comparable points.

    A point is on the front unless a comparable one is at least as fast and as diverse, and better
    in one of both.
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
class Advised:
    """The fastest of comparable points that keeps a stated diversity; all are rows of the table."""

    row: Row
    fastest: Row
    """Whatever its diversity."""
    most_diverse: Row
    is_alone: bool
    """Whether nothing else can be compared with it."""
    as_fast: tuple[Row, ...]
    """Others that keep the diversity and whose interval overlaps with that of `row`, so that they
    may be as fast; all of them where intervals are not known."""

    @property
    def keeps(self) -> float:
        """Share of the largest diversity that it has."""
        return float(self.row[DIVERSITY] / self.most_diverse[DIVERSITY])

    @property
    def given_up(self) -> float:
        """Share of the largest rate that keeping the diversity costs."""
        return float(1 - self.row[SPEED] / self.fastest[SPEED])


def advised(points: pl.DataFrame) -> tuple[Advised, ...]:
    """Advise for each set of comparable points."""
    known = points.filter(pl.col("on_front").is_not_null()).sort("workers", maintain_order=True)
    return tuple(_advised(own) for own in known.partition_by(COMPARABLE, maintain_order=True))


def _advised(points: pl.DataFrame) -> Advised:
    # Of equally fast points the more diverse, and else the first of the suite.
    by_speed = points.sort(SPEED, DIVERSITY, descending=True, maintain_order=True)
    by_diversity = points.sort(DIVERSITY, SPEED, descending=True, maintain_order=True)
    # There is one at least, as the most diverse keeps its own diversity.
    chosen, *others = by_speed.filter("keeps_diversity").iter_rows(named=True)
    return Advised(
        row=chosen,
        fastest=by_speed.row(0, named=True),
        most_diverse=by_diversity.row(0, named=True),
        is_alone=points.height == 1,
        as_fast=tuple(other for other in others if _may_be_as_fast(other, chosen)),
    )


def _may_be_as_fast(other: Row, chosen: Row) -> bool:
    """Whether intervals overlap; nothing is ruled out where one is not known."""
    high, low = other[f"{SPEED}_high"], chosen[f"{SPEED}_low"]
    return high is None or low is None or bool(high >= low)

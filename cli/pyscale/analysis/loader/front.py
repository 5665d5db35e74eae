"""Which points trade diversity for speed, and which are worse in both."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

COMPARABLE = ("workers", "patch_px", "mpp")
"""What points have in common whose rates and diversities can be set beside each other: as many
ranks, and patches of the same size."""
SPEED, DIVERSITY = "patches_per_s", "effective_slides"


def with_front(points: pl.DataFrame, *, keep: float) -> pl.DataFrame:
    """Add `on_front` and `keeps_diversity`.

    A point is on the front unless a comparable one is at least as fast and at least as diverse,
    and better in one of both. Of two that are equal in both, each is on it.

    Parameters
    ----------
    points : polars.DataFrame
        With `COMPARABLE`, `patches_per_s` and `effective_slides`.
    keep : float
        Share of the largest diversity that is to be kept, above 0 and up to 1.

    Returns
    -------
    polars.DataFrame
        As given, in its order. The new columns are null where speed or diversity is not known.
    """
    import polars as pl

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

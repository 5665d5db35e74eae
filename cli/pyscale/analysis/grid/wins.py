"""From which size on one value of versus beats its base."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

CURVE = ("suite", "family", "series", "workers", "value", "base", "measure")
"""Columns that name one curve of ratios over size."""


@dataclass(frozen=True)
class Win:
    """Sizes at which one value of versus is faster than its base.

    Attributes
    ----------
    suite, family, series, value, base, measure : str
        Which curve.
    workers : int
        N.
    from_px : float or None
        Smallest measured length from which on it wins at every larger one too; None where it does
        not win at the largest.
    not_at_px : float or None
        Largest measured length at which it does not win; None where it wins at all.
    smallest_px, largest_px : float
        Ends of what was measured.
    sure : bool
        Whether every size from `from_px` on has an interval; False where some win by their ratio
        alone, and where none wins.
    """

    suite: str
    family: str
    series: str
    workers: int
    value: str
    base: str
    measure: str
    from_px: float | None
    not_at_px: float | None
    smallest_px: float
    largest_px: float
    sure: bool


def wins(ratios: pl.DataFrame) -> list[Win]:
    """Find where each curve begins to win: where the low end of its interval is above 1.

    Where a size has no interval its ratio decides, and `sure` is False. Sizes between two
    measured ones are not guessed at.
    """
    found = []
    for key, curve in ratios.filter(~pl.col("invalid")).group_by(CURVE, maintain_order=True):
        rows = curve.drop_nulls("length_px").sort("length_px").to_dicts()
        if not rows:
            continue
        losing = [row for row in rows if not _wins(row)]
        last_loss = losing[-1]["length_px"] if losing else None
        winning = [row for row in rows if last_loss is None or row["length_px"] > last_loss]
        found.append(
            Win(
                **dict(zip(CURVE, key, strict=True)),
                from_px=winning[0]["length_px"] if winning else None,
                not_at_px=last_loss,
                smallest_px=rows[0]["length_px"],
                largest_px=rows[-1]["length_px"],
                sure=bool(winning) and all(row["ratio_low"] is not None for row in winning),
            )
        )
    return found


def _wins(row: dict[str, float | None]) -> bool:
    least = row["ratio"] if row["ratio_low"] is None else row["ratio_low"]
    assert least is not None
    return least > 1

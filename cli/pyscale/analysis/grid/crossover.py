"""Ratios over the sizes of images: from which size on one device wins, and its ceiling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
from pydantic import Field

from pyscale.analysis.grid.saturation import Saturation, saturation
from pyscale_stages.contract import Record

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

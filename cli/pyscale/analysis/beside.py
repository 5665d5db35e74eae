"""Times of several sides beside each other, and how much faster each is than each other one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

Row = Mapping[str, Any]
Pairs = Mapping[tuple[int, int], pl.DataFrame]
"""Verdicts on the second of two sides against the first."""
BASES = ("time", "rate")
"""Quantities whose ratio is a speedup."""


@dataclass(frozen=True)
class Beside:
    """Times of several sides, lined up.

    Attributes
    ----------
    names : tuple of str
        Columns that name a time within a side.
    rows : polars.DataFrame
        One row per side and time; `side` is its place.
    pairs : mapping of (int, int) to polars.DataFrame
        Places of base and new, and the verdicts on what both have.
    speedups : polars.DataFrame
        As `speedups` gives it.
    """

    names: tuple[str, ...]
    rows: pl.DataFrame
    pairs: Pairs
    speedups: pl.DataFrame


def speedups(
    rows: pl.DataFrame,
    names: Sequence[str],
    sides: int,
    pairs: Pairs,
    basis: Callable[[int, Row], str],
) -> pl.DataFrame:
    """Compare every time with that of every other side.

    Parameters
    ----------
    rows, names, pairs
        As `Beside` has them.
    sides : int
        How many there are.
    basis : callable
        Gives one of `BASES` for the place of a base and a row, else the reason against a speedup.

    Returns
    -------
    polars.DataFrame
        One row per base and row of another side: `base, side`, what names the time, and

        speedup, speedup_low, speedup_high : float
            Time of the base over the own, or own rate over the base's: above 1 faster. Where
            `pairs` has an interval, the estimate is its own too; else it is of medians.
        basis : str
            Null where there is no speedup.
        why_not : str
            The reason.
    """
    found = []
    held = rows.to_dicts()
    cells = {(row["side"], *(row[name] for name in names)): row for row in held}
    judged = _judged(pairs, names)
    for row in held:
        key = {name: row[name] for name in names}
        for base in (place for place in range(sides) if place != row["side"]):
            told = basis(base, row)
            line = {"base": base, "side": row["side"], **key}
            if told not in BASES:
                found.append(line | {"why_not": told})
                continue
            there = cells[base, *key.values()]
            of_medians = there["wall_s"] / row["wall_s"]
            if told == "rate":
                of_medians *= row["amount"] / there["amount"]
            speedup = judged.get((base, row["side"], *key.values()), (of_medians, None, None))
            found.append(line | dict(zip(SPEEDUP, speedup, strict=True)) | {"basis": told})
    schema: dict[str, Any] = {"base": pl.Int64, **{n: rows.schema[n] for n in ("side", *names)}}
    schema |= dict.fromkeys(SPEEDUP, pl.Float64) | {"basis": pl.String, "why_not": pl.String}
    return pl.DataFrame(found, schema=schema)


SPEEDUP = ("speedup", "speedup_low", "speedup_high")


def _judged(
    pairs: Pairs, names: Sequence[str]
) -> dict[tuple[Any, ...], tuple[float, float, float]]:
    """Speedups with their intervals, by base, side and what names the time."""
    found = {}
    for (base, new), table in pairs.items():
        for row in table.drop_nulls("ratio_low").iter_rows(named=True):
            key = [row[name] for name in names]
            ratio, low, high = (row[end] for end in ("ratio", "ratio_low", "ratio_high"))
            # The ratio is new over base, a speedup base over new.
            found[base, new, *key] = (1 / ratio, 1 / high, 1 / low)
            found[new, base, *key] = (ratio, low, high)
    return found

"""Times of several sides beside each other, and how much faster each is than each other one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from pyscale.analysis.schema import REAL, TEXT, WHOLE, Schema

Row = Mapping[str, Any]
Pairs = Mapping[tuple[int, int], pl.DataFrame]
"""By the places of base and new: verdicts on what both have."""
BASES = ("time", "rate")
"""Quantities whose ratio is a speedup."""
SPEEDUP = ("speedup", "speedup_low", "speedup_high")


@dataclass(frozen=True)
class Beside:
    """Times of several sides, lined up."""

    names: tuple[str, ...]
    """Columns that name a time within a side."""
    rows: pl.DataFrame
    """One row per side and time; `side` is its place."""
    pairs: Pairs
    speedups: pl.DataFrame


def speedups(
    rows: pl.DataFrame,
    names: Sequence[str],
    sides: int,
    pairs: Pairs,
    basis: Callable[[int, Row], str],
) -> pl.DataFrame:
    """Compare every time with that of every other side: a row per base and row of another side.

    `rows`, `names` and `pairs` are as `Beside` has them; `basis` gives one of `BASES` for the place
    of a base and a row, else the reason against a speedup, which is then `why_not`. A speedup is
    the base's time over the own, or the own rate over the base's. Where `pairs` has an interval,
    the estimate is its own too; else it is of medians.
    """
    found = []
    held = rows.to_dicts()
    cells = {(row["side"], *(row[name] for name in names)): row for row in held}
    judged: dict[tuple[Any, ...], tuple[float | None, ...]] = {}
    for (base, new), table in pairs.items():
        for row in table.drop_nulls("ratio_low").iter_rows(named=True):
            key = [row[name] for name in names]
            ratio, low, high = (row[end] for end in ("ratio", "ratio_low", "ratio_high"))
            # The ratio is new over base, a speedup base over new.
            judged[base, new, *key] = (1 / ratio, 1 / high, 1 / low)
            judged[new, base, *key] = (ratio, low, high)
    for row in held:
        key = [row[name] for name in names]
        for base in (place for place in range(sides) if place != row["side"]):
            told = basis(base, row)
            line = {"base": base, "side": row["side"], **dict(zip(names, key, strict=True))}
            if told not in BASES:
                found.append(line | {"why_not": told})
                continue
            there = cells[base, *key]
            of_medians = there["wall_s"] / row["wall_s"]
            if told == "rate":
                of_medians *= row["amount"] / there["amount"]
            speedup = judged.get((base, row["side"], *key), (of_medians, None, None))
            found.append(line | dict(zip(SPEEDUP, speedup, strict=True)) | {"basis": told})
    schema: Schema = {"base": WHOLE, **{name: rows.schema[name] for name in ("side", *names)}}
    schema |= dict.fromkeys(SPEEDUP, REAL) | {"basis": TEXT, "why_not": TEXT}
    return pl.DataFrame(found, schema=schema)

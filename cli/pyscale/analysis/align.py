"""What several sides have, lined up by its labels: runs, versions, nodes, machines, references.

A side is a table whose rows are named by labels. Two sides that did the same work are judged
(`align`), and any number of them stand beside each other with their speedups (`Beside`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from pyscale.analysis.declared import REAL, TEXT, WHOLE, Schema
from pyscale.analysis.intervals import with_ends
from pyscale.analysis.judging import SIDES, Arms, Judgement, judge

Key = tuple[Any, ...]
Row = Mapping[str, Any]
JUDGED = ("p_adjusted", "p_beyond", "verdict", "reason")
"""What a table of comparisons has of a judgement, beside the ratio with its ends."""


def by_labels(table: pl.DataFrame, names: Sequence[str]) -> dict[Key, dict[str, Any]]:
    """Rows of a table by their labels."""
    return {tuple(row[name] for name in names): row for row in table.to_dicts()}


def align(
    names: Sequence[str],
    sides: Sequence[Mapping[Key, Row]],
    arms: Mapping[Key, Arms],
    *,
    order: Iterable[Key] = (),
    family: Callable[[Key], Hashable] = lambda _key: None,
    unlike: Mapping[Key, str] | None = None,
    **how: Any,
) -> list[dict[str, Any]]:
    """Line up what either of two sides has by its labels, with a verdict on what both have.

    What a side tells of a key stands in columns that begin with `base_` and `new_`. All `arms` of
    one `family` are judged together, as `judge` does `how`. `unlike` says why a key that both have
    is not judged. Without `order` it is that of base, then of new.
    """
    judged: dict[Key, Judgement] = {}
    for one in dict.fromkeys(map(family, arms)):
        own = [key for key in arms if family(key) == one]
        judged |= zip(own, judge([arms[key] for key in own], **how), strict=True)
    rows = []
    for key in order or dict.fromkeys(key for side in sides for key in side):
        row: dict[str, Any] = dict(zip(names, key, strict=True))
        for name, side in zip(SIDES, sides, strict=True):
            told = side.get(key, {}).items()
            row |= {f"{name}_{column}": value for column, value in told if column not in names}
        if (found := judged.get(key)) is not None:
            row |= with_ends("ratio", found.ratio, found.interval)
            row |= {name: getattr(found, name) for name in JUDGED}
        elif unlike and key in unlike:
            row["reason"] = unlike[key]
        rows.append(row)
    return rows


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
    cells = by_labels(rows, ("side", *names))
    judged: dict[tuple[Any, ...], tuple[float | None, ...]] = {}
    for (base, new), table in pairs.items():
        for row in table.drop_nulls("ratio_low").iter_rows(named=True):
            key = [row[name] for name in names]
            ratio, low, high = (row[end] for end in ("ratio", "ratio_low", "ratio_high"))
            # The ratio is new over base, a speedup base over new.
            judged[base, new, *key] = (1 / ratio, 1 / high, 1 / low)
            judged[new, base, *key] = (ratio, low, high)
    for row in cells.values():
        key = [row[name] for name in names]
        for base in (place for place in range(sides) if place != row["side"]):
            told = basis(base, row)
            line = {"base": base, "side": row["side"], **dict(zip(names, key, strict=True))}
            if told not in BASES:
                found.append(line | {"why_not": told})
                continue
            there = cells[base, *key]
            of_medians = there["wall_s"] / row["wall_s"]
            # A rate has its amount above and its time below: the own amount is over the base's.
            if told == "rate":
                of_medians *= row["amount"] / there["amount"]
            speedup = judged.get((base, row["side"], *key), (of_medians, None, None))
            found.append(line | dict(zip(SPEEDUP, speedup, strict=True)) | {"basis": told})
    schema: Schema = {"base": WHOLE, **{name: rows.schema[name] for name in ("side", *names)}}
    schema |= dict.fromkeys(SPEEDUP, REAL) | {"basis": TEXT, "why_not": TEXT}
    return pl.DataFrame(found, schema=schema)

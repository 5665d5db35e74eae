"""Tests of a machine that are faster or slower on one side than on another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import polars as pl

from pyscale.analysis.beside import Beside
from pyscale.analysis.judging import MARGIN, Arms, compare_sides
from pyscale.analysis.machine.sidebyside import (
    CELL,
    MachineSide,
    Row,
    cell_of,
    machines_side_by_side,
)
from pyscale.analysis.machine.speedups import (
    WHY_NOT,
    machine_speedups,
    speedup_basis,
    wholes_of,
)

ARM = ("stage", "workers", "device", "test", "at_once", "step")
"""What names the trials of one test within a side."""
OWN = {"device": "own_device"}
"""Columns of the tests of all sides that are called otherwise."""


def compared_tests(
    sides: Sequence[MachineSide],
    table: pl.DataFrame,
    base: int,
    new: int,
    *,
    at_least: float = MARGIN,
) -> pl.DataFrame:
    """Judge every test that two sides did, by the statistics of `pyscale.analysis.comparison`.

    What is compared are the medians of trials, each a process of its own: repeats inside one are
    not independent, and as samples they would call a machine slower that was only disturbed. Tests
    are judged, and of one whose steps alone were timed each step; other steps are not. What is
    judged together, so that any wrong verdict is rare, are the tests of one kind on one device: six
    trials of each side can tell a difference among at most 46 tests, and a suite has more. Where
    times cannot be compared and rates can, seconds of each unit are.

    `table` is what `machines_side_by_side` made of the sides, and gives the order; sides whose
    `trials` are not known are not judged. `basis` is `time`, or `rate` where seconds of each unit
    were compared; `why_not` is a key of `WHY_NOT` where a test of both is not.
    """
    rows = {(row["side"], *cell_of(row)): row for row in table.to_dicts()}
    judged = list(
        dict.fromkeys(
            key[1:] for key, row in rows.items() if key[0] in {base, new} and row["whole"]
        )
    )
    arms = {side: _arms(sides[side]) for side in (base, new)}
    found: dict[tuple[Any, ...], str] = {}
    pairs: dict[tuple[Any, ...], Arms] = {}
    for key in judged:
        before, after = (rows.get((side, *key)) for side in (base, new))
        if before is None or after is None or None in (before["wall_s"], after["wall_s"]):
            continue
        found[key] = speedup_basis(before, after, wholes_of(rows, base, new, key))
        if found[key] not in WHY_NOT:
            of_rates = found[key] == "rate"
            pairs[key] = (
                _arm(arms[base], before, of_rates=of_rates),
                _arm(arms[new], after, of_rates=of_rates),
            )
    lines = compare_sides(
        CELL,
        tuple(
            {key: _told(row) for key in judged if (row := rows.get((side, *key)))}
            for side in (base, new)
        ),
        pairs,
        order=judged,
        family=_family,
        at_least=at_least,
    )
    for line in lines:
        basis = found.get(cell_of(line))
        line |= {"why_not" if basis in WHY_NOT else "basis": basis}
        line["unit"] = line.get("new_unit") or line.get("base_unit")
    kinds = {name: table.schema[name] for name in CELL}
    number, text = pl.Float64, pl.String
    schema: dict[str, Any] = {
        **kinds,
        **dict.fromkeys(("base_repeats", "new_repeats"), pl.Int64),
        **dict.fromkeys(("base_wall_s", "new_wall_s", "base_rate", "new_rate"), number),
        **dict.fromkeys(("unit", "basis"), text),
        **dict.fromkeys(("ratio", "ratio_low", "ratio_high", "p_adjusted", "p_beyond"), number),
        **dict.fromkeys(("verdict", "reason", "why_not", "base_why_not", "new_why_not"), text),
    }
    return pl.DataFrame(lines, schema=schema)


def machines_beside(sides: Sequence[MachineSide]) -> Beside:
    """Line up the tests of all sides, and compare those whose single trials are known."""
    tests = machines_side_by_side(sides)
    pairs = all_compared(sides, tests)
    rows = tests.with_columns(
        pl.col("percent") * 100,
        pl.col("why_not").replace("", None),
        device_name="own_device",
        invalid=pl.col("flags").list.contains("disagrees"),
    )
    return Beside(CELL, rows, pairs, machine_speedups(tests, pairs))


def all_compared(
    sides: Sequence[MachineSide], table: pl.DataFrame
) -> dict[tuple[int, int], pl.DataFrame]:
    """Compare all sides whose single trials are known in pairs, the earlier one as the base."""
    known = [place for place, side in enumerate(sides) if side.trials is not None]
    return {
        (base, new): compared_tests(sides, table, base, new) for base, new in combinations(known, 2)
    }


def _family(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Key of the tests that are judged together: kind, entry, processes and device."""
    return key[: CELL.index("test")]


def _arms(side: MachineSide) -> dict[tuple[Any, ...], list[Row]]:
    """Timed trials of a side by what names them there."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    if side.trials is not None:
        for row in side.trials.drop_nulls("wall_s").to_dicts():
            found.setdefault(tuple(row[name] for name in ARM), []).append(row)
    return found


def _arm(arms: Mapping[tuple[Any, ...], list[Row]], row: Row, *, of_rates: bool) -> list[float]:
    """Seconds of each trial, or of each unit."""
    trials = arms.get(tuple(row[OWN.get(name, name)] for name in ARM), [])
    if not of_rates:
        return [trial["wall_s"] for trial in trials]
    return [trial["wall_s"] / trial["amount"] for trial in trials if trial["amount"]]


def _told(row: Row) -> dict[str, Any]:
    """What a side tells of a test in a comparison."""
    return {
        **{name: row[name] for name in ("wall_s", "rate", "unit")},
        "repeats": row["repeats"] if row["wall_s"] is not None else None,
        "why_not": row["why_not"] or None,
    }

"""Tests of a machine that are faster or slower on one side than on another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import polars as pl

from pyscale.analysis.beside import Beside
from pyscale.analysis.comparison import MARGIN, Judgement, cells, judge
from pyscale.analysis.machine.sidebyside import (
    CELL,
    MachineSide,
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

    Parameters
    ----------
    sides : sequence of MachineSide
        Those whose `trials` are not known are not judged.
    table : polars.DataFrame
        What `machines_side_by_side` made of them.
    base, new : int
        Places of the two.
    at_least : float
        Least change that counts: 0.05 is 5 %.

    Returns
    -------
    polars.DataFrame
        One row per test of either side, in the order of `table`: the columns of `CELL`, of both
        sides repeats, time, rate and why there is none, and a judgement as
        `pyscale.analysis.comparison.comparison` gives it. `basis` is `time`, or `rate` where
        seconds of each unit were compared; `why_not` is a key of `WHY_NOT` where a test of both
        is not.
    """
    rows = {(row["side"], *cell_of(row)): row for row in table.to_dicts()}
    judged = list(
        dict.fromkeys(
            key[1:] for key, row in rows.items() if key[0] in {base, new} and row["whole"]
        )
    )
    arms = {side: _arms(sides[side]) for side in (base, new)}
    found: dict[tuple[Any, ...], str] = {}
    pairs: dict[tuple[Any, ...], tuple[list[float], list[float]]] = {}
    for key in judged:
        before, after = (rows.get((side, *key)) for side in (base, new))
        if before is None or after is None or None in (before["wall_s"], after["wall_s"]):
            continue
        found[key] = speedup_basis(before, after, wholes_of(rows, base, new, key))
        if found[key] not in WHY_NOT:
            each = (_arm(arms[base], before), _arm(arms[new], after))
            pairs[key] = (
                [wall_s for wall_s, _ in each[0]],
                [wall_s for wall_s, _ in each[1]],
            )
            if found[key] == "rate":
                pairs[key] = (_per_unit(each[0]), _per_unit(each[1]))
    verdicts: dict[tuple[Any, ...], Judgement] = {}
    for family in dict.fromkeys(map(_family, pairs)):
        own = [key for key in pairs if _family(key) == family]
        verdicts |= zip(own, judge([pairs[key] for key in own], at_least=at_least), strict=True)
    lines = [
        _line(key, (rows.get((base, *key)), rows.get((new, *key))), found.get(key), verdicts)
        for key in judged
    ]
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


Arm = list[tuple[float, float | None]]
"""Seconds and amount of each trial."""


def _family(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Key of the tests that are judged together: kind, entry, processes and device."""
    return key[: CELL.index("test")]


def _arms(side: MachineSide) -> dict[tuple[Any, ...], Arm]:
    if side.trials is None:
        return {}
    found: dict[tuple[Any, ...], Arm] = {}
    timed = side.trials.drop_nulls("wall_s")
    for row in timed.select(*ARM, "wall_s", "amount").iter_rows():
        found.setdefault(row[: len(ARM)], []).append(row[len(ARM) :])
    return found


def _arm(arms: Mapping[tuple[Any, ...], Arm], row: Mapping[str, Any]) -> Arm:
    key = (
        row["stage"],
        row["workers"],
        row["own_device"],
        row["test"],
        row["at_once"],
        row["step"],
    )
    return arms.get(key, [])


def _per_unit(arm: Arm) -> list[float]:
    return [wall_s / amount for wall_s, amount in arm if amount]


def _line(
    key: tuple[Any, ...],
    rows: tuple[Mapping[str, Any] | None, Mapping[str, Any] | None],
    basis: str | None,
    verdicts: Mapping[tuple[Any, ...], Judgement],
) -> dict[str, Any]:
    line: dict[str, Any] = dict(zip(CELL, key, strict=True))
    for name, row in zip(("base", "new"), rows, strict=True):
        if row is not None:
            line |= {f"{name}_{own}": row[own] for own in ("wall_s", "rate")}
            line["unit"] = row["unit"] or line.get("unit")
            line[f"{name}_repeats"] = row["repeats"] if row["wall_s"] is not None else None
            line[f"{name}_why_not"] = row["why_not"] or None
    if basis in WHY_NOT:
        line["why_not"] = basis
    if key in verdicts:
        line |= {"basis": basis} | cells(verdicts[key])
    return line

"""Tests of a machine that are faster or slower on one side than on another, and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import polars as pl

from pyscale.analysis.judging import MARGIN, Arms, compare_sides
from pyscale.analysis.machine.sidebyside import CELL, MachineSide, machines_side_by_side
from pyscale.analysis.schema import REAL, TEXT, WHOLE, Schema, columns
from pyscale.analysis.sidebyside import Beside, Pairs, Row, speedups

Basis = Literal["time", "rate"]
"""Quantity whose ratio is a speedup."""
Key = tuple[Any, ...]

WHY_NOT = {
    "not-in-base": "No speedup: the baseline has no time here.",
    "unknown-amount": "No speedup: the amount of work of one of the two is unknown.",
    "other-amount": "No speedup: the tests around this step did different amounts of work.",
    "other-unit": "No speedup: the units of work differ.",
    "unknown-size": "No speedup: the size of the images or maps of one of the two is unknown.",
    "other-size": (
        "No speedup: parameters differ, so an image, map or file is a different amount of work."
    ),
    "wrong-result": "No speedup: the result of one of the two is wrong.",
    "not-cold": "No speedup: a cold cache was requested, but not verified in one of the two.",
    "no-time": "No speedup: too short for the clock.",
}
"""Why a test is not compared with the baseline's."""
OF_RATES = (
    "Ratio of rates, as amounts or parameters differ: the times are not of equal work, and a rate "
    "may depend on the amount too."
)
"""Note on a speedup that is not a ratio of times."""

NOT_COLD = {"warm-not-cold", "evicted-unverified", "cache-uncontrolled"}
"""Flags by which it is not known that a test read from the storage."""

PHYSICAL = ("B", "flop")
"""Units that are the same whatever is processed; an image or a map is as large as it is."""

ARM = ("stage", "workers", "own_device", "test", "at_once", "step")
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

    `table` is what `machines_side_by_side` made of the sides, and gives the order; sides whose
    `trials` are not known are not judged.
    """
    rows = _by_cell(table)
    places = (base, new)
    judged = list(
        dict.fromkeys(key[1:] for key, row in rows.items() if key[0] in places and row["whole"])
    )
    arms = [_arms(sides[place]) for place in places]
    found: dict[Key, str] = {}
    pairs: dict[Key, Arms] = {}
    for key in judged:
        both = [rows.get((place, *key)) for place in places]
        if any(row is None or row["wall_s"] is None for row in both):
            continue
        found[key] = _basis(rows, base, new, key)
        if found[key] not in WHY_NOT:
            pairs[key] = [
                _seconds(own.get(tuple(row[name] for name in ARM), []), found[key])
                for own, row in zip(arms, both, strict=True)
                if row is not None
            ]
    lines = compare_sides(
        CELL,
        [{key: _told(row) for key in judged if (row := rows.get((p, *key)))} for p in places],
        pairs,
        order=judged,
        # Tests of one kind, entry, number of processes and device.
        family=lambda key: key[: CELL.index("test")],
        at_least=at_least,
    )
    for line in lines:
        basis = found.get(tuple(line[name] for name in CELL))
        line |= {"why_not" if basis in WHY_NOT else "basis": basis}
        line["unit"] = line.get("new_unit") or line.get("base_unit")
    schema: Schema = {name: table.schema[name] for name in CELL} | columns(
        (WHOLE, "base_repeats new_repeats"),
        (REAL, "base_wall_s new_wall_s base_rate new_rate"),
        (TEXT, "unit basis"),
        (REAL, "ratio ratio_low ratio_high p_adjusted p_beyond"),
        (TEXT, "verdict reason why_not base_why_not new_why_not"),
    )
    return pl.DataFrame(lines, schema=schema)


def machines_beside(sides: Sequence[MachineSide]) -> Beside:
    """Line up the tests of all sides, and compare those whose single trials are known."""
    tests = machines_side_by_side(sides)
    known = [place for place, side in enumerate(sides) if side.trials is not None]
    pairs = {
        (base, new): compared_tests(sides, tests, base, new) for base, new in combinations(known, 2)
    }
    rows = tests.with_columns(
        pl.col("percent") * 100,
        pl.col("why_not").replace("", None),
        device_name="own_device",
        invalid=pl.col("flags").list.contains("disagrees"),
    )
    return Beside(CELL, rows, pairs, machine_speedups(tests, pairs))


def machine_speedups(table: pl.DataFrame, pairs: Pairs | None = None) -> pl.DataFrame:
    """Compare every test with that of every side, as `speedups` does."""
    cells = _by_cell(table)

    def basis(base: int, row: Row) -> str:
        return _basis(cells, base, row["side"], tuple(row[name] for name in CELL))

    return speedups(table, CELL, table["side"].n_unique(), pairs or {}, basis)


def _by_cell(table: pl.DataFrame) -> dict[Key, Row]:
    return {(row["side"], *(row[name] for name in CELL)): row for row in table.to_dicts()}


def _basis(cells: Mapping[Key, Row], base_side: int, own_side: int, key: Key) -> Basis | str:
    """Decide whether times or rates of a test can be compared, else why not."""
    base, own = cells.get((base_side, *key)), cells[own_side, *key]
    wholes = [cells.get((side, *key[:-1], None)) for side in (base_side, own_side)]
    if base is None or base["wall_s"] is None or own["wall_s"] is None:
        return "not-in-base"
    if not base["wall_s"] or not own["wall_s"]:
        return "no-time"
    # A step of a wrong test is not flagged itself.
    if any("disagrees" in row["flags"] for row in (base, own, *filter(None, wholes))):
        return "wrong-result"
    if any(NOT_COLD & {*row["flags"]} for row in (base, own)):
        return "not-cold"
    sizes = {base["size"], own["size"]}
    same_size = len(sizes) == 1 and None not in sizes
    amounts = [base["amount"], own["amount"]]
    # Steps whose amount nobody counts are compared by what their tests did.
    of_tests = amounts == [None, None] and own["step"] is not None
    if of_tests:
        amounts = [whole and whole["amount"] for whole in wholes]
    if None in amounts:
        return "unknown-amount"
    if not of_tests and base["unit"] != own["unit"]:
        return "other-unit"
    if (of_tests or own["unit"] not in PHYSICAL) and not same_size:
        return "unknown-size" if None in sizes else "other-size"
    if same_size and amounts[0] == amounts[1]:
        return "time"
    return "other-amount" if of_tests else "rate"


def _arms(side: MachineSide) -> dict[Key, list[Row]]:
    """Timed trials of a side by what names them there."""
    found: dict[Key, list[Row]] = {}
    if side.trials is not None:
        trials = side.trials.drop_nulls("wall_s").rename({"device": "own_device"})
        for row in trials.to_dicts():
            found.setdefault(tuple(row[name] for name in ARM), []).append(row)
    return found


def _seconds(trials: Sequence[Row], basis: str) -> list[float]:
    """Seconds of each trial, or of each unit."""
    if basis == "time":
        return [trial["wall_s"] for trial in trials]
    return [trial["wall_s"] / trial["amount"] for trial in trials if trial["amount"]]


def _told(row: Row) -> dict[str, Any]:
    """What a side tells of a test in a comparison."""
    return {
        **{name: row[name] for name in ("wall_s", "rate", "unit")},
        "repeats": row["repeats"] if row["wall_s"] is not None else None,
        "why_not": row["why_not"] or None,
    }

"""Speedups of tests between machines, where the two can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import polars as pl

from pyscale.analysis.beside import Pairs, speedups
from pyscale.analysis.machine.sidebyside import CELL, Row, cell_of

Basis = Literal["time", "rate"]
"""Quantity whose ratio is a speedup."""

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


def speedup_basis(base: Row | None, own: Row, wholes: tuple[Row | None, Row | None]) -> Basis | str:
    """Decide whether times or rates of two rows of `machines_side_by_side` can be compared."""
    if base is None or base["wall_s"] is None or own["wall_s"] is None:
        return "not-in-base"
    if not base["wall_s"] or not own["wall_s"]:
        return "no-time"
    if any("disagrees" in row["flags"] for row in (base, own, *filter(None, wholes))):
        return "wrong-result"
    if any(NOT_COLD & {*row["flags"]} for row in (base, own)):
        return "not-cold"
    sizes = {base["size"], own["size"]}
    amounts = (base["amount"], own["amount"])
    if amounts == (None, None) and own["step"] is not None:
        return _step_basis(sizes, wholes)
    if None in amounts:
        return "unknown-amount"
    if base["unit"] != own["unit"]:
        return "other-unit"
    same_size = len(sizes) == 1 and None not in sizes
    if own["unit"] not in PHYSICAL and not same_size:
        return "unknown-size" if None in sizes else "other-size"
    return "time" if same_size and amounts[0] == amounts[1] else "rate"


def _step_basis(sizes: set[str | None], wholes: tuple[Row | None, Row | None]) -> Basis | str:
    """Compare steps whose amount nobody counts by what their tests did."""
    amounts = [None if whole is None else whole["amount"] for whole in wholes]
    if None in amounts:
        return "unknown-amount"
    if None in sizes:
        return "unknown-size"
    if len(sizes) > 1:
        return "other-size"
    return "time" if amounts[0] == amounts[1] else "other-amount"


def machine_speedups(table: pl.DataFrame, pairs: Pairs | None = None) -> pl.DataFrame:
    """Compare every test with that of every side, as `pyscale.analysis.beside.speedups` does."""
    cells = {(row["side"], *cell_of(row)): row for row in table.to_dicts()}

    def basis(base: int, row: Row) -> str:
        key = cell_of(row)
        wholes = wholes_of(cells, base, row["side"], key)
        return speedup_basis(cells.get((base, *key)), row, wholes)

    return speedups(table, CELL, table["side"].n_unique(), pairs or {}, basis)


def wholes_of(
    cells: Mapping[tuple[Any, ...], Row], base: int, own: int, key: tuple[Any, ...]
) -> tuple[Row | None, Row | None]:
    """Rows of the whole test that a cell belongs to, of two sides."""
    whole = (*key[:-1], None)
    return cells.get((base, *whole)), cells.get((own, *whole))

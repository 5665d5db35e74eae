"""How much faster each machine did a test than each other, where the two can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pyscale.analysis.machine.sidebyside import CELL, Row, cell_of

if TYPE_CHECKING:
    import polars as pl

Basis = Literal["time", "rate"]
"""What a speedup is a ratio of."""

WHY_NOT = {
    "not-in-base": "No speedup: the base has no time here.",
    "unknown-amount": (
        "No speedup: how much was done is not told on one of the two sides, so that amounts are "
        "not known to be equal."
    ),
    "other-amount": "No speedup: this step was part of a test that did more in one of the two.",
    "other-unit": "No speedup: what was done is not counted in the same unit.",
    "unknown-size": (
        "No speedup: how large each image or map was is not told on one of the two sides, so that "
        "amounts are not known to be equal."
    ),
    "other-size": (
        "No speedup: parameters are not the same in both, so that one image, map or file is "
        "another amount of work."
    ),
    "wrong-result": "No speedup: in one of the two the result is wrong.",
    "not-cold": (
        "No speedup: on one of the two what was to be read cold lay in memory, or nothing could "
        "prove that it did not."
    ),
    "no-time": "No speedup: it took no time that the clock could see.",
}
"""Why a test is not compared with the base's."""
OF_RATES = (
    "Ratio of rates: the amounts or the parameters are not the same in both, so that the times are "
    "not those of equal work, and a rate may depend on the amount too."
)
"""What must be said of a speedup that is no ratio of times."""

PHYSICAL = ("B", "flop")
"""Units that are the same whatever is processed; an image or a map is as large as it is."""


def speedup_basis(base: Row | None, own: Row, wholes: tuple[Row | None, Row | None]) -> Basis | str:
    """Decide whether times or rates of two rows of `machines_side_by_side` can be compared.

    Parameters
    ----------
    base, own : mapping
        The same cell of two sides; None where the base has none.
    wholes : pair of mapping or None
        The tests that they are steps of, where they are steps.

    Returns
    -------
    str
        `time` where both did the same amount with the same parameters; `rate` where the amounts
        are counted in one unit that means the same in both; else a key of `WHY_NOT`.
    """
    if base is None or base["wall_s"] is None or own["wall_s"] is None:
        return "not-in-base"
    if not base["wall_s"] or not own["wall_s"]:
        return "no-time"
    if any("wrong-result" in row["flags"] for row in (base, own, *filter(None, wholes))):
        return "wrong-result"
    if any({"not-cold", "evicted-unverified"} & {*row["flags"]} for row in (base, own)):
        return "not-cold"
    sizes = {base["size"], own["size"]}
    amounts = (base["amount"], own["amount"])
    if amounts == (None, None) and own["step"] is not None:
        return _basis_of_step(sizes, wholes)
    if None in amounts:
        return "unknown-amount"
    if base["unit"] != own["unit"]:
        return "other-unit"
    same_size = len(sizes) == 1 and None not in sizes
    if own["unit"] not in PHYSICAL and not same_size:
        return "unknown-size" if None in sizes else "other-size"
    return "time" if same_size and amounts[0] == amounts[1] else "rate"


def _basis_of_step(sizes: set[str | None], wholes: tuple[Row | None, Row | None]) -> Basis | str:
    """Compare steps whose amount nobody counts by what their tests did."""
    amounts = [None if whole is None else whole["amount"] for whole in wholes]
    if None in amounts:
        return "unknown-amount"
    if None in sizes:
        return "unknown-size"
    if len(sizes) > 1:
        return "other-size"
    return "time" if amounts[0] == amounts[1] else "other-amount"


def machine_speedups(
    table: pl.DataFrame, pairs: Mapping[tuple[int, int], pl.DataFrame] | None = None
) -> pl.DataFrame:
    """Compare every test with that of every side.

    Parameters
    ----------
    table : polars.DataFrame
        What `machines_side_by_side` made.
    pairs : mapping of (int, int) to polars.DataFrame, optional
        What `pyscale.analysis.machine.comparison.compared_tests` found of two sides.

    Returns
    -------
    polars.DataFrame
        One row per base and row of `table` of another side: `base, side`, the columns of `CELL`,
        and

        speedup, speedup_low, speedup_high : float
            Above 1 faster: time of the base over the own, or own rate over the base's. Where
            `pairs` has an interval, the estimate is its own too; else it is of medians.
        basis : str
            `time` or `rate`; null where there is no speedup.
        why_not : str
            Key of `WHY_NOT` where there is none.
    """
    import polars as pl

    rows = table.to_dicts()
    cells = {(row["side"], *cell_of(row)): row for row in rows}
    judged = _judged(pairs or {})
    found = []
    for row in rows:
        key, own = cell_of(row), row["side"]
        for base in (side for side in table["side"].unique().sort() if side != own):
            there = cells.get((base, *key))
            basis = speedup_basis(there, row, wholes_of(cells, base, own, key))
            line = {"base": base, "side": own, **dict(zip(CELL, key, strict=True))}
            if basis in WHY_NOT:
                found.append(line | {"why_not": basis})
                continue
            assert there is not None
            of_medians = there["wall_s"] / row["wall_s"]
            if basis == "rate":
                of_medians *= row["amount"] / there["amount"]
            told = judged.get((base, own, *key), (of_medians, None, None))
            ends = zip(("speedup", "speedup_low", "speedup_high"), told, strict=True)
            found.append(line | dict(ends) | {"basis": basis})
    number = dict.fromkeys(("speedup", "speedup_low", "speedup_high"), pl.Float64)
    kinds = {name: table.schema[name] for name in ("side", *CELL)}
    schema: dict[str, Any] = {"base": pl.Int64, **kinds, **number}
    return pl.DataFrame(found, schema=schema | {"basis": pl.String, "why_not": pl.String})


def wholes_of(
    cells: Mapping[tuple[Any, ...], Row], base: int, own: int, key: tuple[Any, ...]
) -> tuple[Row | None, Row | None]:
    """Rows of the whole test that a cell belongs to, of two sides."""
    whole = (*key[:-1], None)
    return cells.get((base, *whole)), cells.get((own, *whole))


def _judged(
    pairs: Mapping[tuple[int, int], pl.DataFrame],
) -> dict[tuple[Any, ...], tuple[float, float, float]]:
    """Speedups with their intervals, by base, side and cell."""
    found = {}
    for (base, new), table in pairs.items():
        for row in table.drop_nulls("ratio_low").iter_rows(named=True):
            ratio, low, high = (row[end] for end in ("ratio", "ratio_low", "ratio_high"))
            # The ratio is of seconds, new over base; a speedup is base over new.
            found[base, new, *cell_of(row)] = (1 / ratio, 1 / high, 1 / low)
            found[new, base, *cell_of(row)] = (ratio, low, high)
    return found

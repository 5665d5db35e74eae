"""Tests of several machines beside each other, and how much faster each is than each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import polars as pl

Basis = Literal["time", "rate"]
"""What a speedup is a ratio of."""
Row = Mapping[str, Any]

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
    "no-time": "No speedup: it took no time that the clock could see.",
}
"""Why a test is not compared with the base's."""
OF_RATES = (
    "Ratio of rates: the amounts or the parameters are not the same in both, so that the times are "
    "not those of equal work, and a rate may depend on the amount too."
)
"""What must be said of a speedup that is no ratio of times."""

CELL = ("kind", "entry", "processes", "device", "test", "at_once", "step")
"""What names a time within a side: no step is the whole of a test."""
PHYSICAL = ("B", "flop")
"""Units that are the same whatever is processed; an image or a map is as large as it is."""
KINDS = ("storage", "decompress", "kernels")
PROCESSOR, GPU = "processor", "GPU"
_OF_A_TEST = (
    *(
        "whole",
        "repeats",
        "first_s",
        "wall_s",
        "wall_s_low",
        "wall_s_high",
        "percent",
        "amount",
        "unit",
    ),
    *("rate", "rate_low", "rate_high", "bottleneck", "cache", "why_not", "flags"),
)


@dataclass(frozen=True)
class MachineSide:
    """The tests of one machine.

    Attributes
    ----------
    tests : polars.DataFrame
        As `pyscale.analysis.machine.tests.machine_tests` gives it, of one node.
    sizes : mapping of str to str
        By `stage` of `tests`: a fingerprint of all that says how large an image or a map is.
        What is not in it is not known.
    repeats : polars.DataFrame or None
        Single times, as `pyscale.analysis.machine.comparison.timed_repeats` gives them; None
        where they are not known.
    """

    tests: pl.DataFrame
    sizes: Mapping[str, str]
    repeats: pl.DataFrame | None = None


def machines_side_by_side(sides: Sequence[MachineSide]) -> pl.DataFrame:
    """Line up the tests of all sides.

    Returns
    -------
    polars.DataFrame
        One row per side, test, number at once and step: storage before decompression before
        kernels, the processor before GPUs, tests in the order in which the sides name them, and
        each test before its steps:

        side : int
            Place in `sides`.
        kind : str
            Stage that did it.
        entry : str
            Entry of the suite, where a side has several that did one test; else null.
        processes : int
            How many did it on the node at the same time, each by itself.
        device : str
            `processor`, or `GPU`, with a number from the second one of a side.
        test, step : str
        at_once : int
            Readers or threads.
        own_device, stage, workers : str, str, int
            What the side itself calls them.
        size : str
            Of `MachineSide.sizes`; null where it is not known.

        and the columns of `machine_tests` of the same names.
    """
    import polars as pl

    lines = pl.concat([_lines(place, side) for place, side in enumerate(sides)])
    one = ["side", *(name for name in CELL if name != "entry")]
    of_several = lines.group_by(one).agg(several=pl.col("stage").n_unique() > 1)["several"].any()
    named = pl.col("stage") if of_several else pl.lit(None, pl.String)
    # A node that took part in trials of several N by one process each is shown at the lowest.
    lines = (
        lines.with_columns(entry=named)
        .sort("workers", maintain_order=True)
        .unique(["side", *CELL], keep="first", maintain_order=True)
    )
    tests = lines.select("kind", "test").unique(maintain_order=True).with_row_index("_test")
    steps = (
        lines.select("kind", "test", "step")
        .unique(maintain_order=True)
        .with_row_index("_step")
        # A test stands before its steps, wherever it was first named.
        .with_columns(_step=pl.when(pl.col("step").is_null()).then(-1).otherwise("_step"))
    )
    kinds = {kind: place for place, kind in enumerate(KINDS)}
    return (
        lines.join(tests, on=["kind", "test"], how="left", nulls_equal=True)
        .join(steps, on=["kind", "test", "step"], how="left", nulls_equal=True)
        .with_columns(
            _kind=pl.col("kind").replace_strict(kinds, default=len(KINDS), return_dtype=pl.Int64),
            _gpu=pl.col("device") != PROCESSOR,
        )
        .sort(
            *("_kind", "entry", "processes", "_gpu", "device", "_test", "at_once", "_step", "side"),
            nulls_last=False,
        )
        .select("side", *CELL, "own_device", "stage", "workers", "size", *_OF_A_TEST)
    )


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
            Above 1 faster: time of the base over the own, or own rate over the base's. The
            interval is that of `pairs`.
        basis : str
            `time` or `rate`; null where there is no speedup.
        why_not : str
            Key of `WHY_NOT` where there is none.
    """
    import polars as pl

    rows = table.to_dicts()
    cells = {(row["side"], *cell_of(row)): row for row in rows}
    intervals = _intervals(pairs or {})
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
            low, high = intervals.get((base, own, *key), (None, None))
            ratio = there["wall_s"] / row["wall_s"]
            if basis == "rate":
                ratio *= row["amount"] / there["amount"]
            found.append(
                line | {"speedup": ratio, "speedup_low": low, "speedup_high": high, "basis": basis}
            )
    number = dict.fromkeys(("speedup", "speedup_low", "speedup_high"), pl.Float64)
    kinds = {name: table.schema[name] for name in ("side", *CELL)}
    schema: dict[str, Any] = {"base": pl.Int64, **kinds, **number}
    return pl.DataFrame(found, schema=schema | {"basis": pl.String, "why_not": pl.String})


def cell_of(row: Row) -> tuple[Any, ...]:
    """What names a row within its side."""
    return tuple(row[name] for name in CELL)


def wholes_of(
    cells: Mapping[tuple[Any, ...], Row], base: int, own: int, key: tuple[Any, ...]
) -> tuple[Row | None, Row | None]:
    """Rows of the whole test that a cell belongs to, of two sides."""
    whole = (*key[:-1], None)
    return cells.get((base, *whole)), cells.get((own, *whole))


def _lines(place: int, side: MachineSide) -> pl.DataFrame:
    import polars as pl

    names = device_names(side.tests["device"].unique(maintain_order=True))
    text = pl.String
    devices = pl.DataFrame(
        list(names.items()), schema={"device": text, "_named": text}, orient="row"
    )
    sizes = pl.DataFrame(
        list(side.sizes.items()), schema={"stage": text, "size": text}, orient="row"
    )
    return (
        side.tests.join(devices, on="device", how="left", nulls_equal=True, maintain_order="left")
        .join(sizes, on="stage", how="left", maintain_order="left")
        .select(
            pl.lit(place, pl.Int64).alias("side"),
            *("kind", "stage", "workers", "processes", "test", "step", "at_once", "size"),
            *_OF_A_TEST,
            own_device="device",
            device="_named",
        )
    )


def device_names(devices: Iterable[str | None]) -> dict[str | None, str]:
    """Call devices by what they are, so that those of two machines stand beside each other."""
    own = list(devices)
    gpus = [name for name in own if not _is_processor(name)]
    named = {name: GPU if place == 1 else f"{GPU} {place}" for place, name in enumerate(gpus, 1)}
    return {name: named.get(name, PROCESSOR) for name in own}


def _is_processor(device: str | None) -> bool:
    return device in {None, "", "cpu"}


def _intervals(
    pairs: Mapping[tuple[int, int], pl.DataFrame],
) -> dict[tuple[Any, ...], tuple[float, float]]:
    """Intervals of speedups by base, side and cell."""
    found = {}
    for (base, new), table in pairs.items():
        for row in table.drop_nulls("ratio_low").iter_rows(named=True):
            low, high = row["ratio_low"], row["ratio_high"]
            # The ratio is of seconds, new over base; a speedup is base over new.
            found[base, new, *cell_of(row)] = (1 / high, 1 / low)
            found[new, base, *cell_of(row)] = (low, high)
    return found

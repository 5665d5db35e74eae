"""Tests of several machines beside each other: lined up, judged, and divided where they may be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import polars as pl

from pyscale.analysis.align import Beside, Key, Pairs, Row, align, by_labels, speedups
from pyscale.analysis.declared import REAL, TEXT, WHOLE, Schema, columns
from pyscale.analysis.judging import MARGIN, Arms

CELL = ("kind", "entry", "processes", "device", "test", "at_once", "step")
"""What names a time within a side: no step is the whole of a test."""
KINDS = ("storage", "decompress", "kernels")
PROCESSOR, GPU = "processor", "GPU"
_OF_A_TEST = (
    *("whole", "repeats", "first_s", "wall_s", "wall_s_low", "wall_s_high", "percent", "amount"),
    *("unit", "rate", "rate_low", "rate_high", "bottleneck", "cache", "why_not", "flags"),
)


@dataclass(frozen=True)
class MachineSide:
    """The tests of one machine."""

    tests: pl.DataFrame
    """Of one node."""
    sizes: Mapping[str, str]
    """By `stage` of `tests`: a fingerprint of all that says how large an image or a map is."""
    trials: pl.DataFrame | None = None
    """As `pyscale.analysis.machine.tests.trial_medians` gives it; None where not known."""


def machines_side_by_side(sides: Sequence[MachineSide]) -> pl.DataFrame:
    """Line up the tests of all sides, a row per side and `CELL`.

    Storage comes before decompression before kernels, the processor before GPUs, tests are as the
    sides name them, and each test stands before its steps. `entry` is told where a side has several
    that did one test. `device` is `processor`, or `GPU`, with a number from the second one of a
    side; `own_device`, `stage` and `workers` are what the side itself calls them.
    """
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
    kinds = {kind: place for place, kind in enumerate(KINDS)}
    return (
        lines.with_row_index("_row")
        .with_columns(
            _kind=pl.col("kind").replace_strict(kinds, default=len(KINDS), return_dtype=pl.Int64),
            _gpu=pl.col("device") != PROCESSOR,
            _test=pl.col("_row").min().over("kind", "test"),
            # A test stands before its steps, wherever it was first named.
            _step=pl.when(pl.col("step").is_not_null()).then(
                pl.col("_row").min().over("kind", "test", "step")
            ),
        )
        .sort(
            *("_kind", "entry", "processes", "_gpu", "device", "_test", "at_once", "_step", "side"),
            nulls_last=False,
        )
        .select("side", *CELL, "own_device", "stage", "workers", "size", *_OF_A_TEST)
    )


def _lines(place: int, side: MachineSide) -> pl.DataFrame:
    names = device_names(side.tests["device"].unique(maintain_order=True))
    return side.tests.select(
        pl.lit(place, pl.Int64).alias("side"),
        *("kind", "stage", "workers", "processes", "test", "step", "at_once", *_OF_A_TEST),
        own_device="device",
        device=pl.col("device").replace_strict(names, return_dtype=TEXT),
        size=pl.col("stage").replace_strict(side.sizes, default=None, return_dtype=TEXT),
    )


def device_names(devices: Iterable[str | None]) -> dict[str | None, str]:
    """Call devices by what they are, so that those of two machines stand beside each other."""
    own = list(devices)
    gpus = [name for name in own if name not in {None, "", "cpu"}]
    named: dict[str | None, str] = {
        name: GPU if place == 1 else f"{GPU} {place}" for place, name in enumerate(gpus, 1)
    }
    return {name: named.get(name, PROCESSOR) for name in own}


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
    rows = by_labels(table, ("side", *CELL))
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
    lines = align(
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
    cells = by_labels(table, ("side", *CELL))

    def basis(base: int, row: Row) -> str:
        return _basis(cells, base, row["side"], tuple(row[name] for name in CELL))

    return speedups(table, CELL, table["side"].n_unique(), pairs or {}, basis)


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
    found: dict[Key, list[Row]] = {}
    if side.trials is not None:
        trials = side.trials.drop_nulls("wall_s").rename({"device": "own_device"})
        for row in trials.to_dicts():
            found.setdefault(tuple(row[name] for name in ARM), []).append(row)
    return found


def _seconds(trials: Sequence[Row], basis: str) -> list[float]:
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

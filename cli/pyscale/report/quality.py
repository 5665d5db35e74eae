"""Quality of every stage against a known truth, the suite's bounds, and what stages measure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from pyscale.report.context import Work
from pyscale.report.curves import Curve, curves
from pyscale.report.page.values import (
    CONFIGURATIONS,
    MEASURES,
    Columns,
    Table,
    laid_out,
    numbers,
    words,
)
from pyscale.report.results import Results
from pyscale.wording import ABSENT, number, quality, ratio

UNKNOWN = Work(data=ABSENT, how=ABSENT)
CAPTION, MEDIANS = "Quality", "Medians over trials"


def right(found: Sequence[Curve], works: Mapping[str, Work]) -> Table | None:
    """Quality of each configuration whose truth is known; None where there is none.

    Worker counts that give the same as the one before them are left out.
    """
    columns: Columns = [
        *CONFIGURATIONS.columns("workers"),
        words("Dataset", lambda row: row["work"].data),
        words("Algorithm", lambda row: row["work"].how),
        words("Quality against the truth", lambda row: quality(row["quality"]), MEDIANS),
        words("Required", lambda row: row["work"].asked, "By the suite"),
        numbers("Wall time (s)", CONFIGURATIONS.plain("wall_s"), "Median over trials"),
    ]
    rows = (
        (curve.name, row | {"work": works.get(row["stage"], UNKNOWN)})
        for curve in found
        for row in _distinct(curve)
    )
    return laid_out(CAPTION, rows, columns)


def missed(results: Results) -> Iterator[str]:
    """Name each measure that is worse than its suite asks for, or was not measured."""
    works = results.context.works
    for curve in curves(results.configurations):
        work = works.get(curve.key["stage"], UNKNOWN)
        # Of worker counts that compute the same, the first alone may have been judged.
        for row in _distinct(curve) or curve.rows[:1]:
            measured = json.loads(row["quality"])
            for name in work.at_least | work.at_most:
                value = measured.get(name)
                least, most = work.at_least.get(name, -math.inf), work.at_most.get(name, math.inf)
                told = f"{curve.name}: {name} is {number(value)}; the suite requires at"
                if value is None:
                    yield f"{curve.name}: {name} was not measured; the suite requires it."
                elif value < least:
                    yield f"{told} least {least:g}."
                elif value > most:
                    yield f"{told} most {most:g}."


def _distinct(curve: Curve) -> list[dict[str, Any]]:
    # Backwards, so that the first row of each value stays.
    first = {row["quality"]: row for row in reversed(curve.rows) if row["quality"] != "{}"}
    return [row for row in curve.rows if first.get(row["quality"]) is row]


BETTER = {"higher": "higher is better", "lower": "lower is better"}


def measured(found: pl.DataFrame | None) -> Table | None:
    """Lay every number out over N; None where none was measured."""
    if found is None:
        return None
    names = ("name", "workers", "repeats", "value", "unit", "over_baseline", "better", "means")
    rows = [(row["stage"], row) for row in found.iter_rows(named=True)]
    return laid_out("Numbers that stages measure", rows, MEASURES.columns(*names))


def worse(found: pl.DataFrame | None) -> Iterator[str]:
    """Name each number that is worse at an N than at the fewest workers."""
    for row in [] if found is None else found.filter("worse").iter_rows(named=True):
        value = f"{number(row['value'])} {row['unit']}".rstrip()
        over = row["over_baseline"]
        than = "but 0" if over is None else f"{ratio(over)} times that"
        yield (
            f"{row['stage']} at N = {row['workers']}: {row['name']} is {value}, {than} at "
            f"N = {row['baseline_workers']}; {BETTER[row['better']]}."
        )

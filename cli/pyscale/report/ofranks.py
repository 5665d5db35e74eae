"""Sentences common to all work of ranks: loading patches, and reconstructing an image."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pyscale.analysis.flags import SENTENCES, flags_of
from pyscale.report.wording import listing

Row = dict[str, Any]
"""Of a table with a row for each configuration: `stage`, `workers`, `repeats` and `flags`."""


def ranks(count: int) -> str:
    """Write a number of ranks."""
    return f"{count} rank{'s' * (count != 1)}"


def at(name: str, row: Mapping[str, Any]) -> str:
    """Name a configuration at its number of ranks."""
    return f"{name} at N = {row['workers']}"


def told_doubts(row: Row) -> str:
    """Flags of a configuration, and the error of one that failed."""
    return "; ".join([*flags_of(row), *([row["error"]] if row["error"] else [])])


def trials_of(points: Sequence[Row]) -> str:
    """State the numbers of ranks and of trials."""
    counts = sorted({row["workers"] for row in points})
    repeats = sorted({row["repeats"] for row in points})
    times = " to ".join(map(str, dict.fromkeys((repeats[0], repeats[-1]))))
    trials = "trial" if repeats == [1] else "trials"
    on = ranks(counts[0]) if len(counts) == 1 else f"N = {listing(counts)} ranks"
    return f"on {on}, {times} timed {trials} of each"


def doubts_of(
    points: Sequence[Row],
    places: Callable[[Sequence[Row]], str],
) -> Iterator[str]:
    """Give the sentence of every flag once, with the configurations that raise it."""
    raised: dict[str, list[Row]] = {}
    for row in points:
        for code in flags_of(row):
            raised.setdefault(code, []).append(row)
    for code in filter(raised.__contains__, SENTENCES):
        rows = raised[code]
        where = "everywhere" if len(rows) == len(points) > 1 else places(rows)
        yield f"`{code}` ({where}): {SENTENCES[code]}"

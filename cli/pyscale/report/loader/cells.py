"""Cells of the tables of loading patches: numbers tied to the CSV that holds them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pyscale.analysis.flags import flags_of
from pyscale.report.machine.words import STATES
from pyscale.report.ofranks import Row
from pyscale.report.page.values import LOADER_POINT, LOADER_RANK, Cell, interval_of, value_of
from pyscale.report.wording import ABSENT, gib, number

Writer = Callable[[Row], Cell]


def doubts(row: Row) -> Cell:
    """Flags of a configuration, and the error of one that failed."""
    told = [*flags_of(row), *([row["error"]] if row["error"] else [])]
    return ("; ".join(told) or ABSENT,)


def value(row: Row, column: str, text: str) -> Any:
    """Tie one number of a configuration to the CSV."""
    return value_of("loader", LOADER_POINT, row, column, text)


def interval(row: Row, column: str, written: Callable[[Any], str] = number) -> Cell:
    """Write one number with its interval where there is one; no rate says why."""
    if row[column] is None:
        return ("failed" if column == "patches_per_s" and row["failed"] else ABSENT,)
    return interval_of("loader", LOADER_POINT, row, column, written)


def fed(row: Row) -> Cell:
    """Say whether what training takes is delivered, and how much that is."""
    if row["feeds"] is None:
        return (ABSENT,)
    return (f"{row['feeds']}, takes ", value(row, "consumed_per_s", number(row["consumed_per_s"])))


def cache(row: Row) -> Cell:
    """Write the state of the page cache, with how surely it is known."""
    state = row["cache_state"]
    return (STATES.get(state or "", state or ABSENT),)


def of_several(column: str, written: Callable[[Any], str]) -> Writer:
    """Write one number of a configuration with several ranks; one rank alone has none."""
    write = point(column, written)
    return lambda row: (ABSENT,) if row["workers"] == 1 else write(row)


def point(column: str, written: Callable[[Any], str], scale: float | None = None) -> Writer:
    """Write one number of a configuration, divided by `scale`."""
    return _written("loader", LOADER_POINT, column, written, scale)


_UNITS: dict[str, tuple[Callable[[Any], str], float | None]] = {
    "ms": (number, 1e-3),
    "kB": (number, 1e3),
    "MB": (number, 1e6),
    "GiB": (gib, None),
}


def in_unit(head: str, column: str) -> Writer:
    """Write one number of a configuration in the unit that the column's head has in brackets."""
    return point(column, *_UNITS[re.split(r"[(/)]", head)[1]])


def rank(column: str, written: Callable[[Any], str], scale: float | None = None) -> Writer:
    """Write one number of a rank, divided by `scale`."""
    return _written("loader_ranks", LOADER_RANK, column, written, scale)


def _written(
    table: str,
    key: tuple[str, ...],
    column: str,
    written: Callable[[Any], str],
    scale: float | None,
) -> Writer:
    def write(row: Row) -> Cell:
        known = row[column]
        if known is None:
            return (ABSENT,)
        text = written(known if scale is None else known / scale)
        return (value_of(table, key, row, column, text),)

    return write

"""Numbers that stages measure of their work: a table, and sentences on those that get worse."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from pyscale.report.page.table import Table, laid_out
from pyscale.report.page.values import MEASURES
from pyscale.report.wording import number, ratio

BETTER = {"higher": "higher is better", "lower": "lower is better"}


def table(found: pl.DataFrame | None) -> Table | None:
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
        yield (
            f"{row['stage']} at N = {row['workers']}: {row['name']} is {value}, "
            f"{ratio(row['over_baseline'])} times that at N = {row['baseline_workers']}; "
            f"{BETTER[row['better']]}."
        )


def titled(name: str, unit: str) -> str:
    """Name a number with its unit."""
    return f"{name} ({unit})" if unit else name

"""Tests of the machine for the terminal: tables and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyscale.report.curves import curves
from pyscale.report.fitted import Fitted, empty_table, plain
from pyscale.report.grid.scope import about_workers
from pyscale.report.machine import headroom, nodes, tables, told
from pyscale.report.machine.bench import MOST_BENCHES, Bench, benches
from pyscale.report.machine.section import doubts
from pyscale.report.page.table import Table
from pyscale.report.results import Results

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table as RichTable

LEFT_OUT = {
    *("Doubts", "Trials", "Median (ms)", "p95 (ms)", "First call (s)", "Error", "Allowed"),
    *("Nodes", "Outliers"),
}
"""Columns that only the report has room for."""
ON_SCREEN = ("Filesystem", "Device", "Mounted with")
"""Properties of the measured folder that the terminal shows."""
NARROW = "Numbers of this machine need a wider terminal; the report has them."


def machine_summary(results: Results) -> list[RenderableType]:
    """Lay the tests out for a terminal of 100 columns, or a pipe, with a line for each finding."""
    from rich.text import Text

    found = benches(results.machine)
    machine = results.machine
    if machine is None or not found:
        return []
    several = len({bench.node for bench in found}) > 1
    shown: list[RenderableType] = []
    for bench in [] if several else found[:MOST_BENCHES]:
        if bench.name:
            shown.append(Text(f"\n{bench.name}", "bold"))
        if place := _place(bench):
            shown.append(Text(f"\n{place}"))
        shown += _laid_out(_tables(bench))
    if (beside := nodes.table(machine)) is not None:
        shown += _laid_out([beside])
    if several or len(found) > MOST_BENCHES:
        shown.append(Text("The report and benchmark_tests.csv have the rates of each node."))
    about_n = curves(about_workers(results).configurations)
    said = (
        *nodes.sentences(machine),
        *headroom.sentences(machine, about_n),
        *told.of_all(found, told.cannot_run),
        *map(plain, doubts(results, found)),
    )
    return [*shown, *map(Text, said)]


def _place(bench: Bench) -> str:
    known = told.place(bench)
    return "; ".join(f"{name}: {known[name]}" for name in ON_SCREEN if name in known)


def _laid_out(shown: Iterable[Table]) -> Iterator[RenderableType]:
    from rich.text import Text

    for table in shown:
        yield Text(f"\n{table.caption}", "bold")
        yield Fitted(_drawn(table), None, NARROW)


def _tables(bench: Bench) -> Iterator[Table]:
    every = [tables.reads(bench), tables.metadata(bench), tables.codecs(bench)]
    every += [tables.kernels(bench, device) for device in bench.kernels]
    yield from (table for table in every if table is not None)


def _drawn(shown: Table) -> RichTable:
    from rich.text import Text

    names, rows = shown.header, shown.texts
    places = [place for place, name in enumerate(names) if name not in LEFT_OUT]
    table = empty_table()
    table.columns[0].header = shown.head
    for place in places[1:]:
        is_text = shown.columns[place - 1].is_text
        table.add_column(_broken(names[place]), justify="left" if is_text else "right")
    last = ""
    for row in rows:
        name = "" if row[0] == last else row[0]
        last = row[0]
        # Intervals are the report's: a terminal has no room for so many.
        table.add_row(Text(name), *(row[place].partition(" [")[0] for place in places[1:]))
    return table


def _broken(name: str) -> str:
    """Break a heading before its unit."""
    return name.replace(" (", "\n(")

"""The page of several runs: how each compares with the first, and the viewer of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import polars as pl

from pyscale.planning.runfacts import Differing
from pyscale.report.charts.chart import Chart
from pyscale.report.charts.marks import marks
from pyscale.report.comparison import ComparisonContext, judged
from pyscale.report.comparisonview import Compared
from pyscale.report.page.shell import page_data, rendered
from pyscale.report.palette import colour_rows
from pyscale.report.viewer.build import Viewer, comparison_table, machine_viewer, stage_viewer
from pyscale.report.viewer.sources import Column, SideBySide
from pyscale.wording import listing
from pyscale_stages.atomic import write_atomically

OTHER_INPUT = (
    "Not compared in time: its input has not the bytes of the base's, so that its work is another."
)
NAME = "comparison.html"
TOLD = ("workers", "wall_s", "wall_s_low", "wall_s_high", "repeats")
"""What the chart has of each time."""


@dataclass(frozen=True)
class Several:
    """Runs that are compared with the first of them.

    `contexts` say what each of the others has in common with the first, and `ranks` compare what
    ranks took (empty where none has any). `differing` is what not all have in common; `machines`
    are the tests of the machine of those that have any.
    """

    found: SideBySide
    started: Sequence[datetime | None]
    contexts: Sequence[ComparisonContext]
    differing: Sequence[Differing]
    machines: SideBySide | None = None
    ranks: Sequence[pl.DataFrame] = ()


@dataclass(frozen=True)
class Against:
    """A run, or its tests of the machine, against the first."""

    column: Column
    compared: Compared
    refused: str | None = None
    """Why nothing of it is compared."""


def against_first(several: Several) -> Iterator[Against]:
    """Compare every run with the first, and after them the tests of the machine."""
    for place, context in enumerate(several.contexts, start=1):
        table = several.found.pairs.get((0, place))
        refused = OTHER_INPUT if table is None else None
        if context.nothing_in_common:
            refused = f"Not compared: {context.nothing_in_common}."
        own = [] if refused else [table, *several.ranks[place - 1 : place]]
        rows = [row for one in own for row in judged(one)]
        yield Against(several.found.columns[place], Compared(context, rows), refused)


def machines_against_first(several: Several) -> Iterator[Against]:
    """Compare every column of tests of the machine with the first."""
    found = several.machines
    for place, column in enumerate(found.columns if found else ()):
        if found and (table := found.pairs.get((0, place))) is not None:
            # Outputs and what differs are told of the runs.
            context = several.contexts[0].model_copy(update={"outputs": ()})
            yield Against(column, Compared(context, judged(tests=table)))


def what_differs(several: Several) -> str:
    """Say in a sentence of what kind the differences are."""
    kinds = list(dict.fromkeys(found.kind for found in several.differing))
    if not kinds:
        return "Nothing that was recorded differs between the runs."
    return f"The runs differ in {listing(kinds)}."


def wall_times(shown: Viewer) -> Chart | None:
    """Draw the wall times of all columns, a panel a stage."""
    rows = [
        {"curve": row["curve"], "run": f"{column.id}: {column.name}"}
        | {name: cell[name] for name in TOLD}
        for row in shown.rows
        if row["curve"] is not None and not row["part"]
        for column, cell in zip(shown.found.columns, row["cells"], strict=True)
        if cell is not None and cell["wall_s"] is not None
    ]
    return marks("side-by-side", rows).chart()


def write_comparison(folder: Path, several: Several) -> Path:
    """Write the page of several runs, and its tables; each appears whole or not at all."""
    shown = stage_viewer(several.found)
    tests = machine_viewer(several.machines) if several.machines else None
    charts = [chart for chart in [wall_times(shown)] if chart]
    rows = {name: own for each in charts for name, own in each.data.items()}
    data = page_data(charts, {**rows, "colours": colour_rows()}, shown) | {"tables": {}}
    for viewed in filter(None, (shown, tests)):
        table = comparison_table(viewed.found, viewed.layout).write_csv()
        data |= {viewed.layout.id: viewed.data}
        data["tables"][viewed.layout.id] = table
        write_atomically(folder / f"{viewed.layout.file}.csv", table)
    text = rendered(
        "page/comparison.html.j2",
        data,
        charts={chart.id: chart for chart in charts},
        viewer=shown,
        runs=list(zip(several.found.columns, several.started, strict=True)),
        against=list(against_first(several)),
        stages=list(dict.fromkeys(row["curve"] for row in shown.rows if row["curve"])),
        differing=several.differing,
        what_differs=what_differs(several),
        machines=tests,
        machines_against=list(machines_against_first(several)),
    )
    write_atomically(folder / NAME, text)
    return folder / NAME

"""References shown to a person or a script: which there are, and one with all that is known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pyscale.analysis.referencemodel import NOT_TOLD, Loaded
from pyscale.console import answer
from pyscale.references.files import shipped_folder
from pyscale.report.curves import curves
from pyscale.report.grid.sweep import flattens
from pyscale.report.page import tables
from pyscale.report.section import terminal_table

ABSENT = "-"
NO_STAGES = "none: it appears beside tests of the same names, if it has any"
OF_TESTS = (
    *("test", "step", "workers", "at_once", "device", "wall_s", "wall_s_low", "wall_s_high"),
    *("rate", "unit", "repeats"),
)
"""What is shown of tests: medians, each test followed by its steps."""


def show_all(references: Mapping[str, Loaded], files: Mapping[str, Path], *, as_json: bool) -> None:
    """Print all references, one a row."""
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "title": loaded.reference.title,
            "stages": sorted(set(loaded.reference.stages.values())),
            "sweep": loaded.reference.sweep,
            "measured": loaded.reference.measured,
            "shipped": files[name].parent == shipped_folder(),
            "file": str(files[name]),
        }
        for name, loaded in references.items()
    ]
    if as_json:
        print(json.dumps(rows, indent=1))  # noqa: T201 - the command's answer
        return
    table = _table("reference", "stages", "swept over", "measured", "from", "what")
    for row in rows:
        stages = ", ".join(row["stages"]) or ABSENT
        whose = "pyscale" if row["shipped"] else "you"
        cells = (row["name"], stages, row["sweep"], row["measured"] or NOT_TOLD, whose)
        table.add_row(*map(Text, (*cells, row["title"])))
    answer(table)


def show_one(loaded: Loaded, *, as_json: bool) -> None:
    """Print a reference: where it is from, on what it was measured, its caveats and numbers."""
    if as_json:
        found, tests = loaded.configurations(), loaded.tests()
        told = {
            "reference": loaded.reference.model_dump(mode="json"),
            "table": loaded.table.to_dicts(),
            "configurations": None if found is None else found.to_dicts(),
            "ratios": [row for grid in loaded.grids() for row in grid.ratios.to_dicts()],
            "tests": None if tests is None else tests.to_dicts(),
            "ceilings": [one.model_dump() for grid in loaded.grids() for one in grid.ceilings],
        }
        print(json.dumps(told, indent=1, default=str))  # noqa: T201 - the command's answer
        return
    reference = loaded.reference
    stages = ", ".join(f"{own} is {known}" for own, known in reference.stages.items())
    facts = {
        "source": reference.source,
        "address": reference.url or NOT_TOLD,
        "measured": reference.measured or NOT_TOLD,
        "numbers": reference.figures,
        "stages": stages or NO_STAGES,
    }
    answer(
        Group(
            Text(f"{reference.name}: {reference.title}", style="bold"),
            _pairs(facts),
            Text("\nHardware", style="bold"),
            _pairs(reference.hardware),
            Text("\nNotes before comparing", style="bold"),
            *(Text(f"- {caveat}") for caveat in reference.caveats),
            Text(),
            _numbers(loaded),
            *(
                Text(f"\n{one.value} against {one.base}: {flattens(one)}")
                for grid in loaded.grids()
                for one in grid.ceilings
            ),
        )
    )


def _numbers(loaded: Loaded) -> RenderableType:
    """Its configurations as reports show them, or its table as it is."""
    found = loaded.configurations()
    if found is not None and (results := tables.results(curves(found))):
        return terminal_table(results)
    tests = loaded.tests()
    shown = loaded.table if tests is None else tests.select(OF_TESTS)
    table = _table(*shown.columns)
    for row in shown.iter_rows():
        table.add_row(*(Text(_written(cell)) for cell in row))
    return table


def _written(cell: object) -> str:
    """Write a cell as its table has it: a length read as a number has no decimals."""
    if cell is None:
        return ABSENT
    return f"{cell:.12g}" if isinstance(cell, float) else str(cell)


def _pairs(facts: Mapping[str, str]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    for name, value in facts.items():
        table.add_row(Text(name), Text(value))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None)
    for place, column in enumerate(columns):
        # The first is a name to type, which must not be cut.
        table.add_column(Text(column), no_wrap=place == 0, overflow="fold")
    return table

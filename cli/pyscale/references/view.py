"""References shown to a person or a script: which there are, and one with all that is known."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pyscale.analysis.referencemodel import NOT_TOLD, Loaded
from pyscale.console import answer
from pyscale.references.files import shipped_folder
from pyscale.references.testtable import machine_tests_of
from pyscale.report.curves import curves
from pyscale.report.fitted import terminal_table
from pyscale.report.grid.sweep import flattens
from pyscale.report.page import tables
from pyscale.wording import number, with_interval

ABSENT = "-"


def show_all(references: Mapping[str, Loaded], files: Mapping[str, Path], *, as_json: bool) -> None:
    """Print all references, one a row."""
    shipped = shipped_folder()
    if as_json:
        rows = [
            {
                "name": name,
                "title": loaded.reference.title,
                "stages": sorted(set(loaded.reference.stages.values())),
                "sweep": loaded.reference.sweep,
                "measured": loaded.reference.measured,
                "shipped": files[name].parent == shipped,
                "file": str(files[name]),
            }
            for name, loaded in references.items()
        ]
        print(json.dumps(rows, indent=1))  # noqa: T201 - the command's answer
        return
    table = _table("reference", "stages", "swept over", "measured", "from", "what")
    for name, loaded in references.items():
        told = loaded.reference
        stages = ", ".join(sorted(set(told.stages.values()))) or ABSENT
        origin = "pyscale" if files[name].parent == shipped else "you"
        cells = (name, stages, told.sweep, told.measured or NOT_TOLD, origin, told.title)
        table.add_row(*map(Text, cells))
    answer(table)


def show_one(loaded: Loaded, *, as_json: bool) -> None:
    """Print a reference: where it is from, on what it was measured, its caveats and numbers."""
    if as_json:
        found, tests = loaded.configurations(), machine_tests_of(loaded)
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
        "stages": stages or _NO_STAGES[reference.has_tests],
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
            *(Text(sentence) for sentence in _ceilings(loaded)),
        )
    )


def _numbers(loaded: Loaded) -> RenderableType:
    """Its configurations as reports show them, or its table as it is."""
    found = loaded.configurations()
    if found is not None and (results := tables.results(curves(found))):
        return terminal_table(results)
    tests = machine_tests_of(loaded)
    if tests is not None:
        return _tests(tests)
    table = _table(*loaded.table.columns)
    for row in loaded.table.iter_rows():
        table.add_row(*(Text(_written(cell)) for cell in row))
    return table


_NO_STAGES = {
    True: "none: it appears beside tests of the same names",
    False: "none, so it appears in no report",
}


def _tests(tests: pl.DataFrame) -> Table:
    """Medians of its tests, each followed by its steps."""
    table = _table("test", "step", "N", "at once", "device", "time (s)", "rate a second", "trials")
    for row in tests.to_dicts():
        rate = ABSENT if row["rate"] is None else f"{row['rate']:.4g} {row['unit']}"
        cells = (
            *(row["test"], row["step"] or "", str(row["workers"]), str(row["at_once"])),
            row["device"] or "processor",
            with_interval(*(number(row[f"wall_s{end}"]) for end in ("", "_low", "_high"))),
            *(rate, str(row["repeats"])),
        )
        table.add_row(*map(Text, cells))
    return table


def _written(cell: object) -> str:
    """Write a cell as its table has it: a length read as a number has no decimals."""
    if cell is None:
        return ABSENT
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _ceilings(loaded: Loaded) -> Iterator[str]:
    """Say where the ratios of its devices end, if it has any."""
    for grid in loaded.grids():
        for one in grid.ceilings:
            yield f"\n{one.value} against {one.base}: {flattens(one)}"


def _pairs(facts: Mapping[str, str]) -> Table:
    """Lay out one property a line, the names in one column."""
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

"""A table that is whole where the terminal has room for it."""

from __future__ import annotations

from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from pyscale.report.page.values import Table as Shown
from pyscale.report.page.values import cell_text


def empty_table(padding: int = 0) -> Table:
    """Start a table of stages, in which their names give way before numbers do."""
    sides = (0, padding, 0, 0)
    table = Table(box=box.SIMPLE_HEAD, padding=sides, pad_edge=False, show_edge=False)
    table.add_column("stage", overflow="fold")
    return table


def terminal_table(shown: Shown, most: int | None = None) -> Table:
    """Lay out a table of the page, or its first columns, each name above all of its rows."""
    table = empty_table()
    table.columns[0].header = shown.head
    columns = shown.columns[:most]
    for column in columns:
        # A heading breaks before its unit.
        table.add_column(column.name.replace(" (", "\n("), no_wrap=not column.is_text)
        table.columns[-1].justify = "left" if column.is_text else "right"
    for group in shown.groups:
        for place, line in enumerate(group.lines):
            cells = (Text(cell_text(cell)) for cell in line.cells[: len(columns)])
            table.add_row(Text(group.name if place == 0 else ""), *cells)
    return table


def plain(sentence: str) -> str:
    """Leave out what sets code in a text."""
    return sentence.replace("`", "")


@dataclass(frozen=True)
class Fitted:
    """The whole table where the terminal has room for it, else a shorter one and a line."""

    whole: Table
    short: Table | None
    otherwise: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # As narrow as words and numbers allow.
        needed = Measurement.get(console, options.update(max_width=10_000), self.whole).minimum
        if needed <= options.max_width:
            yield self.whole
            return
        if self.short is not None:
            yield self.short
        yield Text(self.otherwise)

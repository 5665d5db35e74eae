"""A table that is whole where the terminal has room for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

NAME_WIDTH = 8
"""Columns that a stage's name keeps in a narrow terminal, where it folds."""


def empty_table(padding: int = 0) -> Table:
    """Start a table of stages, in which their names give way before numbers do."""
    from rich import box
    from rich.table import Table

    sides = (0, padding, 0, 0)
    table = Table(box=box.SIMPLE_HEAD, padding=sides, pad_edge=False, show_edge=False)
    table.add_column("stage", overflow="fold")
    return table


def grouped_table(
    of: str, headers: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]
) -> Table:
    """Lay out rows under the name that they have in common; of their cells as many as headers."""
    from rich.text import Text

    table = empty_table()
    table.columns[0].header = of
    for header in headers:
        table.add_column(header, justify="right", no_wrap=True)
    last = ""
    for name, cells in rows:
        table.add_row(Text("" if name == last else name), *map(Text, cells[: len(headers)]))
        last = name
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
        from rich.measure import Measurement
        from rich.text import Text

        stage = self.whole.columns[0]
        natural = Measurement.get(console, options.update(max_width=10_000), self.whole).maximum
        name = max(len(str(cell)) for cell in (stage.header, *stage.cells))
        if natural - max(name - NAME_WIDTH, 0) <= options.max_width:
            yield self.whole
            return
        if self.short is not None:
            yield self.short
        yield Text(self.otherwise)

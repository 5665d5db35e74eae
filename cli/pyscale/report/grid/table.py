"""The points of a grid as a table for the terminal, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyscale.analysis.flags import LETTERS, SENTENCES
from pyscale.report.fitted import Fitted, empty_table
from pyscale.report.grid.ratios import bound, where_it_ends, where_it_wins
from pyscale.report.grid.sweep import Sweep
from pyscale.report.grid.times import published
from pyscale.report.grid.told import not_compared
from pyscale.report.grid.trust import codes
from pyscale.report.grid.words import Row, with_ends
from pyscale.report.wording import ABSENT, number, ratio, score

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

NARROW = "Throughput, first calls and agreement need a wider terminal; the report has them."


def grid_summary(found: Sequence[Sweep]) -> list[RenderableType]:
    """Lay points out for a terminal of 100 columns, or a pipe, with a line for each finding.

    Flags are letters, which lines below the table explain; a point whose result the stage itself
    doubts is marked by !.
    """
    from rich.text import Text

    raised = {code for sweep in found for row in sweep.points for code in codes(row)}
    letters = {code: letter for code, letter in LETTERS.items() if code in raised}
    notes = [
        Text.assemble((sweep.name, "bold"), f": {sentence}")
        for sweep in found
        for sentence in _findings(sweep)
    ]
    flags = [
        Text.assemble((f"{letter} {code}", "bold"), f": {SENTENCES[code]}")
        for code, letter in letters.items()
    ]
    whole, narrow = (_table(found, letters, every=every) for every in (True, False))
    return [*notes, Fitted(whole, narrow, NARROW), *flags]


def _findings(sweep: Sweep) -> Iterator[str]:
    """Result of the ratios, or why there is none."""
    if not sweep.is_timed:
        yield "no timed call."
    for line in sweep.compared:
        win, ceiling = sweep.win(line, sweep.measure), sweep.ceiling(line, sweep.measure)
        if win is not None:
            yield f"{line.name} is {where_it_wins(win)}."
        if ceiling is not None:
            yield f"{line.name}: {where_it_ends(ceiling)}"
    yield from bound(sweep)
    yield from published(sweep)
    if sweep.is_timed and (lacking := not_compared(sweep)):
        yield lacking.replace("`", "")


def _table(found: Sequence[Sweep], letters: Mapping[str, str], *, every: bool) -> Table:
    from rich.text import Text

    table = empty_table()
    table.add_column("px", justify="right", no_wrap=True)
    table.add_column("on", no_wrap=True)
    table.add_column("a call s", no_wrap=True)
    if every:
        table.add_column("mega-\npixels/s", justify="right", no_wrap=True)
    compared = any(sweep.compared for sweep in found)
    if compared:
        table.add_column("times\nas fast", no_wrap=True)
    if every:
        table.add_column("first\ncall s", justify="right", no_wrap=True)
    if every and compared:
        table.add_column("AP at\nIoU 0.5", justify="right", no_wrap=True)
    table.add_column("flags", no_wrap=True)
    for sweep in found:
        for place, row in enumerate(sweep.points):
            cells: list[str | Text] = [
                ABSENT if row["length_px"] is None else f"{row['length_px']:.0f}",
                _named(sweep, row),
                with_ends(row, f"{sweep.measure}_s", number),
                *([number(row["throughput_mp_s"])] if every else []),
                *([_ratio(sweep, row)] if compared else []),
                *([number(row["first_s"])] if every else []),
                *([score(row["beside_ap_iou50"])] if every and compared else []),
                "".join(letters[code] for code in codes(row)) or ABSENT,
            ]
            last = place == len(sweep.points) - 1
            table.add_row(Text(sweep.name if place == 0 else ""), *cells, end_section=last)
    return table


def _named(sweep: Sweep, row: Row) -> Text:
    from rich.text import Text

    # The stage's warning stands below, with all others.
    doubted = (" !", "bold red") if row["result_doubted"] else ""
    return Text.assemble(sweep.line_of(row), doubted)


def _ratio(sweep: Sweep, row: Row) -> str:
    found = sweep.ratio_of(row)
    return ABSENT if found is None else with_ends(found, "ratio", ratio)

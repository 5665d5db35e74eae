"""The configurations as a table for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.analysis.flags import SENTENCES
from pyscale.report import sentences
from pyscale.report.curves import curves
from pyscale.report.wording import ABSENT, ratio, score, speedup, wall_time

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

FACTORS = {
    "efficiency": "effi-\nciency",
    "load_balance": "load\nbalance",
    "computation_scaling": "comput.\nscaling",
    "useful_share": "useful\nshare",
}


def summary(configurations: pl.DataFrame) -> RenderableType:
    """Lay the configurations out for a terminal of 100 columns, or a pipe.

    Flags are letters, which lines below the table explain; quality has as many measures as a
    stage likes and stands below the table too.
    """
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    raised = {flag for flags in configurations["flags"] for flag in flags}
    letters = {
        code: chr(ord("a") + place)
        for place, code in enumerate(code for code in SENTENCES if code in raised)
    }
    table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    # Where the terminal is narrow, names of stages give way before numbers do.
    table.add_column("stage", overflow="fold")
    table.add_column("N", justify="right", no_wrap=True)
    table.add_column("wall s", no_wrap=True)
    table.add_column("speedup", no_wrap=True)
    for header in FACTORS.values():
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("agree-\nment", justify="right", no_wrap=True)
    table.add_column("flags", no_wrap=True)
    notes = []
    for curve in curves(configurations):
        for place, row in enumerate(curve.rows):
            table.add_row(
                Text(curve.name if place == 0 else ""),
                str(row["workers"]),
                Text(wall_time(row)),
                Text(speedup(row)),
                *(ratio(row[column]) for column in FACTORS),
                score(row["agreement"]),
                "".join(letters[code] for code in row["flags"]) or ABSENT,
                end_section=place == len(curve.rows) - 1,
            )
        right = sentences.correctness(curve)
        if right:
            notes.append(Text.assemble((curve.name, "bold"), f": {right}"))
    notes += [
        Text.assemble((f"{letter} {code}", "bold"), f": {SENTENCES[code]}")
        for code, letter in letters.items()
    ]
    return Group(table, *notes)

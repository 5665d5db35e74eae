"""What was measured, for the terminal: it ends with the verdict."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from pyscale.analysis.flags import LETTERS, SENTENCES
from pyscale.analysis.grid.findings import GridFindings
from pyscale.report import advice, quality, scalingkind, sentences
from pyscale.report.bottomline import bottom_line
from pyscale.report.bottomview import BottomView
from pyscale.report.comparisonview import Compared, shown
from pyscale.report.context import Work
from pyscale.report.curves import Curve, curves
from pyscale.report.fitted import Fitted, empty_table, terminal_table
from pyscale.report.kinds import sections_of
from pyscale.report.page import tables as page_tables
from pyscale.report.quality import worse
from pyscale.report.results import Results
from pyscale.report.section import summary as summary_of_kind
from pyscale.report.section import there
from pyscale.report.validation import lines as validation_lines
from pyscale.report.warned import said, shortly
from pyscale.wording import ABSENT, agreement, factor, ranged, speedup, wall_time_or_range

TOO_WIDE = "This table needs a wider terminal; the report has it."
NO_RESULTS = "No trial has a record, so there are no results."
FACTORS = {
    "efficiency": "effi-\nciency",
    "load_balance": "load\nbalance",
    "computation_scaling": "comput.\nscaling",
    "useful_share": "useful\nshare",
}


def summary_of(
    results: Results, *, verbose: bool = False, with_quality: bool = False
) -> RenderableType:
    """Lay out everything that was measured, and end with the verdict on stages over N.

    `verbose` shows the factors of efficiency, the quality of each stage and all notes too;
    `with_quality` the quality alone, as the user gave a truth.
    """
    of_kinds = [line for one in sections_of(results) for line in summary_of_kind(one)]
    about_n = results.about_workers()
    line = bottom_line(results)
    told: list[RenderableType] = [*validation_lines(results.validation), *of_kinds]
    left = about_n.configurations
    if verbose and not left.is_empty():
        told.append(summary(left, results.context.works))
    elif with_quality or any(work.asked for work in results.context.works.values()):
        # A suite that asks for quality is run to read it, as is one with a truth.
        told += _right(curves(left), results.context.works)
    versions = results.versions
    if versions is not None:
        compared = Compared.of(versions)
        told += [Text(), shown(compared)]
        told += [Text(compared.headline, "bold")] if compared.headline else []
    told += map(Text, worse(results.measured))
    for one in said(results.trials, results.every(GridFindings)):
        # By its first sentence: the report has the rest.
        style = "bold red" if one.doubts_result else "bold"
        told.append(Text.assemble((one.head, style), shortly(one).removeprefix(one.head)))
    if line.stages:
        told += [Text()] if told else []
        told.append(BottomView(results.context.title, line))
        told += [Text(f"Note: {note}.") for note in line.notes] if verbose else []
    elif not of_kinds:
        told.append(Text(NO_RESULTS))
    return Group(*told)


def summary(
    configurations: pl.DataFrame, works: Mapping[str, Work] | None = None
) -> RenderableType:
    """Lay the configurations out for a terminal of 100 columns, or a pipe.

    Flags are letters, which lines below the table explain. Runs on a cluster have tables of what
    their workers waited for, asked for and used.
    """
    raised = {flag for flags in configurations["flags"] for flag in flags}
    letters = {code: letter for code, letter in LETTERS.items() if code in raised}
    drawn = curves(configurations)
    if not drawn:
        return Text(NO_RESULTS)
    scaled = scalingkind.legend(drawn)
    notes = [Text(scaled)] if scaled else []
    notes += map(Text, scalingkind.assumed_strong(drawn))
    if any(ranged(row) for curve in drawn for row in curve.timed):
        notes.append(Text("Wall times in (): range, min-max of the trials."))
    if configurations["identical"].any():
        notes.append(Text.assemble(("=", "bold"), f": {sentences.SAME_BYTES}."))
    notes += [
        Text.assemble((f"{letter} {code}", "bold"), f": {SENTENCES[code]}")
        for code, letter in letters.items()
    ]
    tables: list[RenderableType] = [
        Fitted(
            _table(drawn, letters, FACTORS),
            _table(drawn, letters, {}),
            "Efficiency and its factors need a wider terminal; the report has them.",
        )
    ]
    if configurations["requested_cpus"].is_not_null().any():
        notes += map(Text, advice.too_much(drawn))
        for shown in there(page_tables.waiting(drawn), page_tables.memory(drawn)):
            tables += [Text(f"\n{shown.caption}"), Fitted(terminal_table(shown), None, TOO_WIDE)]
    return Group(*tables, *notes, *_right(drawn, works or {}))


def _right(drawn: list[Curve], works: Mapping[str, Work]) -> list[Table]:
    found = quality.right(drawn, works)
    if found is None:
        return []
    (_, *names), rows = found.header, found.texts
    table = empty_table()
    table.title, table.title_justify, table.title_style = f"\n{quality.CAPTION}", "left", ""
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return [table]


def _table(drawn: list[Curve], letters: Mapping[str, str], factors: Mapping[str, str]) -> Table:
    table = empty_table()
    for header in ("N", "wall s", "speedup", *factors.values(), "agree-\nment", "flags"):
        justify: JustifyMethod = "left" if header in {"wall s", "speedup", "flags"} else "right"
        table.add_column(header, justify=justify, no_wrap=True)
    for curve in drawn:
        for place, row in enumerate(curve.rows):
            table.add_row(
                Text(curve.name if place == 0 else ""),
                str(row["workers"]),
                Text(wall_time_or_range(row)),
                Text(speedup(row), style="bold red" if row["invalid"] else ""),
                *(factor(row, column) for column in factors),
                agreement(row),
                "".join(letters[code] for code in row["flags"]) or ABSENT,
                end_section=place == len(curve.rows) - 1,
            )
    return table

"""Two sides that were compared, laid out: for a terminal, and as the section of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from pyscale.analysis.flags import LETTERS, SENTENCES
from pyscale.analysis.judging import SIDES
from pyscale.analysis.machine.comparison import OF_RATES
from pyscale.report.comparison import (
    ComparisonContext,
    VersionComparison,
    conclusion,
    method,
    output_remarks,
    remarks,
    unit_remarks,
)
from pyscale.report.dictionary import Written
from pyscale.report.fitted import empty_table, terminal_table
from pyscale.report.judged import (
    OTHER_RESULT,
    TESTS,
    TIMES,
    Row,
    by,
    doubts,
    judged,
    not_judged,
    ratio3,
    reasons,
)
from pyscale.report.machine.testlabels import not_applicable, rate_parts
from pyscale.report.page.values import VERSIONS, Cell, Columns, Table, laid_out, numbers, words
from pyscale.wording import ABSENT, INVALID, agreement, interval, number

DIFFERENCE_COLUMNS = ("Difference", "Base", "New")
STYLES = {"worse": "bold red", "slower": "red", "better": "bold green", "faster": "green"}


def section(found: VersionComparison | None) -> dict[str, Any] | None:
    """Content of a report's section; None where one version was measured."""
    if found is None:
        return None
    context = found.context
    rows = judged(found.table)
    sentences = reasons(rows, context.at_least, paired=True)
    marks = _marks(sentences)
    laid_out = tables(rows, marks, "New version against the base, by pairs of trials")
    return {
        "base": context.base,
        "headline": conclusion(context, rows) or "No timed trial of both versions.",
        "difference_columns": DIFFERENCE_COLUMNS,
        "differences": [(one.what, one.base, one.new) for one in context.differences],
        "sentences": [
            *remarks(context),
            *output_remarks(context, rows),
            *(f"{marks[reason]}: {sentence}" for reason, sentence in sentences.items()),
        ],
        "table": next(laid_out, None),
        "method": method(context, rows),
    }


def _marks(sentences: Mapping[str, str]) -> dict[str, str]:
    """Number the reasons that verdicts have, in the order of their sentences."""
    return {reason: str(place) for place, reason in enumerate(sentences, start=1)}


def shown(context: ComparisonContext, rows: Sequence[Row]) -> RenderableType:
    """Lay the comparison out for a terminal: what differs, the verdicts, and what they rest on."""
    sentences = reasons(rows, context.at_least, paired=context.paired)
    marks = _marks(sentences)
    raised = {flag for row in rows for side in SIDES for flag in row.get(f"{side}_flags") or ()}
    notes = {marks[reason]: sentence for reason, sentence in sentences.items()}
    notes |= {f"{LETTERS[code]} {code}": SENTENCES[code] for code in LETTERS if code in raised}
    differences = empty_table(padding=1)
    differences.columns[0].header = "what differs"
    for side in SIDES:
        differences.add_column(side, overflow="fold")
    for _kind, found in groupby(context.differences, lambda one: one.kind):
        for one in found:
            differences.add_row(*map(Text, (one.what, one.base, one.new)))
        differences.add_section()
    told = method(context, rows)
    return Group(
        Text.assemble(("base", "bold"), f": {context.base}"),
        Text.assemble(("new", "bold"), f": {context.new}"),
        *([differences] if context.differences else []),
        *map(Text, [*remarks(context), *unit_remarks(context, rows)]),
        *_printed(rows, marks),
        *(Text.assemble((name, "bold"), f": {sentence}") for name, sentence in notes.items()),
        *map(Text, [*output_remarks(context, rows), *not_judged(rows), *([told] if told else [])]),
    )


def _printed(rows: Sequence[Row], marks: Mapping[str, str]) -> Iterator[RenderableType]:
    for each in tables(rows, marks):
        if each.caption:
            yield Text(f"\n{each.caption}", "bold")
        table = terminal_table(each)
        verdicts = table.columns[each.header.index("Verdict")]
        # A reason for a missing verdict is longer than a verdict.
        verdicts.no_wrap = all(row["verdict"] for row in rows)
        for cell in verdicts.cells:
            assert isinstance(cell, Text)
            for word, style in STYLES.items():
                cell.highlight_regex(rf"^{word}\b", style)
            cell.highlight_words([INVALID, OTHER_RESULT], "bold red")
        yield table
    if any(row.get("basis") == "rate" for row in rows):
        yield Text(OF_RATES)


def tables(rows: Sequence[Row], marks: Mapping[str, str], caption: str = "") -> Iterator[Table]:
    """Lay all rows out, each group under its title; `marks` are those of the reasons."""
    for title, own in by(rows, "group"):
        named = [(row["name"], row | {"invalid": INVALID in doubts(row)}) for row in own]
        head = "Test" if own[0]["told_under"] == TESTS else "Stage"
        if table := laid_out(title or caption, named, _columns(own, marks), head=head):
            yield table


def _columns(rows: Sequence[Row], marks: Mapping[str, str]) -> Columns:
    """Columns of a group; those of which none of its rows has anything are left out."""
    units = {row["unit"] for row in rows}
    unit = units.pop() if len(units) == 1 else ""
    of_side = f" ({unit})" if unit else ""
    return [
        numbers("N", partial(_tied, column="workers", written=str)),
        words("Value", lambda row: row.get("shown_value")),
        *(
            numbers(
                f"{side.capitalize()}{of_side}",
                partial(_amount, side=side, unit=unit),
                f"Median of {side}, and the number of its trials",
            )
            for side in SIDES
        ),
        numbers("New / base", _ratio, "Estimate of the test, with its interval"),
        words("Verdict", lambda row: _verdict(row, marks)),
        numbers(
            "Output",
            _output,
            "Agreement of the new output with the base's, from 0 to 1; =: equal bytes",
        ),
        words("Flags: base / new", _flags),
    ]


def _tied(row: Row, column: str, written: Written) -> Cell:
    """Write a number; those of wall times alone stand in a CSV."""
    if row.get(column) is None:
        return (ABSENT,)
    text = written(row[column])
    return (VERSIONS.value(row, column, text) if row["kind"] == TIMES else text,)


def _ratio(row: Row) -> Cell:
    if row["kind"] == TIMES:
        return VERSIONS.interval_cell(row, "ratio", ratio3)
    return (interval(row, "ratio", ratio3),)


def _output(row: Row) -> Cell:
    told = {"identical": row.get("output_identical")}
    return _tied(row, "output_agreement", lambda score: agreement(told | {"agreement": score}))


def _amount(row: Row, side: str, unit: str) -> Cell:
    """Amount with its number of trials; its unit where that is not the one of its column."""
    if row[f"{side}_repeats"] is None:
        return (ABSENT,)
    amount, own = row[side], row["unit"]
    if row.get("basis") == "rate":
        scale, own = rate_parts(amount, row["amount_unit"])
        amount /= scale
    text = number(amount)
    found = VERSIONS.value(row, f"{side}_wall_s", text) if row["kind"] == TIMES else text
    told = f" {own}" if own != unit else ""
    return (found, f"{told} ({row[f'{side}_repeats']})")


def _verdict(row: Row, marks: Mapping[str, str]) -> str:
    """Write a verdict with the mark of its reason, or why there is none."""
    mark = f" ({marks[row['reason']]})" if row["reason"] is not None else ""
    if row["verdict"] is not None:
        of_rates = " (of rates)" if row.get("basis") == "rate" else ""
        return ", ".join([f"{row['word']}{mark}{of_rates}", *doubts(row)])
    if mark:
        return f"not compared{mark}"
    base, new = (row.get(f"{side}_why_not") for side in SIDES)
    if base and base != new:
        return f"base: {not_applicable(base)}"
    if new:
        return not_applicable(new) if base else f"new: {not_applicable(new)}"
    return f"in {'base' if row['new_repeats'] is None else 'new'} alone"


def _flags(row: Row) -> str:
    raised = [row.get(f"{side}_flags") or () for side in SIDES]
    letters = ["".join(LETTERS[code] for code in flags) or ABSENT for flags in raised]
    return " / ".join(letters) if any(raised) else ""

"""Two sides that were compared, laid out: for a terminal, and as the section of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Group, RenderableType
from rich.text import Text

from pyscale.analysis.flags import SENTENCES
from pyscale.analysis.judging import SIDES
from pyscale.analysis.machine.beside import OF_RATES
from pyscale.report.comparison import (
    ComparisonContext,
    VersionComparison,
    conclusion,
    method,
    output_remarks,
    remarks,
)
from pyscale.report.fitted import empty_table, terminal_table
from pyscale.report.judged import (
    OTHER_RESULT,
    TESTS,
    Row,
    by,
    doubts,
    judged,
    not_judged,
    ratio3,
    reasons,
)
from pyscale.report.machine.bench import not_applicable, rate_parts
from pyscale.report.page.values import (
    VERSIONS,
    Cell,
    Columns,
    Table,
    Writer,
    laid_out,
    numbers,
    words,
)
from pyscale.wording import ABSENT, INVALID, agreement, interval, number

AGAINST = "New against base"
"""Title of wall times, which a terminal does not need."""
STYLES = {"worse": "bold red", "slower": "red", "better": "bold green", "faster": "green"}


@dataclass(frozen=True)
class Compared:
    """Everything that is said of two sides: on a page and in a terminal."""

    context: ComparisonContext
    rows: Sequence[Row]
    tied: bool = False
    """Whether its numbers stand in the table of versions too."""

    @classmethod
    def of(cls, versions: VersionComparison) -> Compared:
        """What the two versions that one run measured show."""
        return cls(versions.context, judged(versions.table), tied=True)

    @property
    def headline(self) -> str | None:
        """The answer; None where nothing was judged."""
        return conclusion(self.context, self.rows)

    @property
    def remarks(self) -> list[str]:
        """What the ratios compare beside the code."""
        return remarks(self.context)

    @property
    def reasons(self) -> dict[str, str]:
        """Why there is not enough data or no verdict, by the reason's code in the rows."""
        return reasons(self.rows, self.context.at_least, paired=self.context.paired)

    @property
    def marks(self) -> dict[str, str]:
        """The number that stands for each reason in the tables."""
        return {reason: str(place) for place, reason in enumerate(self.reasons, start=1)}

    @property
    def notes(self) -> dict[str, str]:
        """What the numbers in the tables stand for."""
        return {self.marks[reason]: sentence for reason, sentence in self.reasons.items()}

    @property
    def said(self) -> list[str]:
        """Whether both computed the same, and what was not compared."""
        return [*output_remarks(self.context, self.rows), *not_judged(self.rows)]

    @property
    def method(self) -> str | None:
        """What the verdicts mean."""
        return method(self.context, self.rows)

    @property
    def tables(self) -> list[Table]:
        """All rows, each group under its title."""
        found = []
        for title, own in by(self.rows, "group"):
            named = [(row["name"], row | {"invalid": INVALID in doubts(row)}) for row in own]
            head = "Test" if own[0]["told_under"] == TESTS else "Stage"
            columns = _columns(own, self.marks, tied=self.tied)
            table = laid_out(title or AGAINST, named, columns, head=head)
            found += [table] if table else []
        return found


def shown(found: Compared) -> RenderableType:
    """Lay a comparison out for a terminal: what differs, the verdicts, and what they rest on."""
    context, rows = found.context, found.rows
    raised = {flag for row in rows for side in SIDES for flag in row.get(f"{side}_flags") or ()}
    flags = {code: told for code, told in SENTENCES.items() if code in raised}
    differences = empty_table(padding=1)
    differences.columns[0].header = "what differs"
    for side in SIDES:
        differences.add_column(side, overflow="fold")
    for _kind, own in groupby(context.differences, lambda one: one.kind):
        for one in own:
            differences.add_row(*map(Text, (one.what, one.base, one.new)))
        differences.add_section()
    return Group(
        Text.assemble(("base", "bold"), f": {context.base}"),
        Text.assemble(("new", "bold"), f": {context.new}"),
        *([differences] if context.differences else []),
        *map(Text, found.remarks),
        *_printed(found),
        *(
            Text.assemble((name, "bold"), f": {sentence}")
            for name, sentence in (found.notes | flags).items()
        ),
        *map(Text, [*found.said, *filter(None, [found.method])]),
    )


def _printed(found: Compared) -> Iterator[RenderableType]:
    for each in found.tables:
        if each.caption != AGAINST:
            yield Text(f"\n{each.caption}", "bold")
        table = terminal_table(each)
        verdicts = table.columns[each.header.index("Verdict")]
        # A reason for a missing verdict is longer than a verdict.
        verdicts.no_wrap = all(row["verdict"] for row in found.rows)
        for cell in verdicts.cells:
            assert isinstance(cell, Text)
            for word, style in STYLES.items():
                cell.highlight_regex(rf"^{word}\b", style)
            cell.highlight_words([INVALID, OTHER_RESULT], "bold red")
        yield table
    if any(row.get("basis") == "rate" for row in found.rows):
        yield Text(OF_RATES)


def _columns(rows: Sequence[Row], marks: Mapping[str, str], *, tied: bool) -> Columns:
    """Columns of a group; those of which none of its rows has anything are left out."""
    units = {row["unit"] for row in rows}
    unit = units.pop() if len(units) == 1 else ""
    of_side = f" ({unit})" if unit else ""
    tie = VERSIONS.value if tied else lambda _row, _column, text: text

    def agreed(row: Row) -> Cell:
        score, identical = row.get("output_agreement"), row.get("output_identical")
        if score is None:
            return (ABSENT,)
        text = agreement({"agreement": score, "identical": identical})
        return (tie(row, "output_agreement", text),)

    def ratio(row: Row) -> Cell:
        if tied:
            return VERSIONS.interval_cell(row, "ratio", ratio3)
        return (interval(row, "ratio", ratio3),)

    def amount(side: str) -> Writer:
        """Write an amount with its number of trials; its unit where that is not the column's."""

        def written(row: Row) -> Cell:
            if row[f"{side}_repeats"] is None:
                return (ABSENT,)
            value, own = row[side], row["unit"]
            if row.get("basis") == "rate":
                scale, own = rate_parts(value, row["amount_unit"])
                value /= scale
            told = f" {own}" if own != unit else ""
            found = tie(row, f"{side}_wall_s", number(value))
            return (found, f"{told} ({row[f'{side}_repeats']})")

        return written

    return [
        numbers("N", lambda row: (ABSENT if row["workers"] is None else str(row["workers"]),)),
        *(
            numbers(
                f"{side.capitalize()}{of_side}",
                amount(side),
                f"Median of {side}, and the number of its trials",
            )
            for side in SIDES
        ),
        numbers("New / base", ratio, "Estimate of the test, with its interval"),
        words("Verdict", lambda row: _verdict(row, marks)),
        numbers(
            "Output",
            agreed,
            "Agreement of the new output with the base's, from 0 to 1; =: equal bytes",
        ),
        words("Flags: base / new", _flags),
    ]


def _verdict(row: Row, marks: Mapping[str, str]) -> str:
    """Write a verdict with the mark of its reason, or why there is none."""
    mark = f" ({marks[row['reason']]})" if row["reason"] is not None else ""
    if row["verdict"] is not None:
        of_rates = " (of rates)" if row.get("basis") == "rate" else ""
        return ", ".join([f"{row['verdict']}{mark}{of_rates}", *doubts(row)])
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
    return " / ".join(", ".join(flags) or ABSENT for flags in raised) if any(raised) else ""

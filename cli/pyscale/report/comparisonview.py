"""Two sides that were compared, laid out: for a terminal, and as the section of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Group, RenderableType
from rich.text import Text

from pyscale.analysis.flags import SENTENCES
from pyscale.analysis.intervals import CONFIDENCE
from pyscale.analysis.judging import FALSE_ALARMS, OTHER_WORK, SIDES
from pyscale.analysis.machine.beside import OF_RATES
from pyscale.report.comparison import (
    OTHER_RESULT,
    TESTS,
    TIMES,
    ComparisonContext,
    OutputComparison,
    Row,
    VersionComparison,
    doubts,
    in_short,
    judged,
    named,
    percent,
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
from pyscale.report.section import empty_table, terminal_table
from pyscale.report.templating import sentences
from pyscale.wording import ABSENT, INVALID, agreement, grouped, interval, listing, number, quality
from pyscale_stages.wording import plural

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
        """The answer for each kind, and whether stages computed the same; None: nothing judged."""
        told = []
        known = [row for row in self.rows if row["verdict"]]
        for title, own in grouped((row["told_under"], row) for row in known).items():
            sentence = in_short(own, self.context.at_least)
            told.append(f"{title}: {sentence[0].lower()}{sentence[1:]}" if title else sentence)
            if not title and self.context.outputs:
                told.append(_outputs_in_short(self.context.outputs))
        return " ".join(told) or None

    @property
    def remarks(self) -> list[str]:
        """What the ratios compare beside the code."""
        return sentences("comparison.j2", "remarks", context=self.context)

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
    def on_outputs(self) -> list[str]:
        """Whether both sides computed the same, and each the same at every N."""
        invalid = grouped(
            (side, row)
            for side in SIDES
            for row in self.rows
            if row["verdict"] and row.get(f"{side}_invalid")
        )
        return sentences(
            "comparison.j2",
            "outputs",
            context=self.context,
            invalid={side: named(own) for side, own in invalid.items()},
            qualities={one.stage: self._quality(one.stage) for one in self.context.outputs},
        )

    def _quality(self, stage: str) -> str:
        """Quality against the truth on both sides, at the lowest worker count that both have."""
        own = [row for row in self.rows if row["kind"] == TIMES and row["stage"] == stage]
        for row in sorted(own, key=lambda row: int(row["workers"])):
            base, new = (quality(row[f"{side}_quality"] or "{}") for side in SIDES)
            if ABSENT not in {base, new}:
                at = f"N = {row['workers']}"
                return f" Quality against the truth at {at}: base {base}; new {new}."
        return ""

    @property
    def not_judged(self) -> list[str]:
        """What was not compared, as one side alone has it or it is not alike."""
        told = []
        for title, own in grouped((row["told_under"], row) for row in self.rows).items():
            head = title or "Stages"
            other = [row for row in own if row["verdict"] is None and row["reason"]]
            if unlike := [row for row in other if row["reason"] == OTHER_WORK]:
                told.append(f"{head}: not compared, as the work is another: {named(unlike)}.")
            if tests := len(other) - len(unlike):
                told.append(f"{head}: in both, but not compared: {plural(tests, 'test')}.")
            for side, absent in (SIDES, SIDES[::-1]):
                has, lacks = f"{side}_repeats", f"{absent}_repeats"
                if alone := [row for row in own if row[has] is not None and not row[lacks]]:
                    many = plural(len(alone), "test") if title == TESTS else named(alone)
                    told.append(f"{head}: in {side} alone: {many}.")
        return told

    @property
    def said(self) -> list[str]:
        """Whether both computed the same, and what was not compared."""
        return [*self.on_outputs, *self.not_judged]

    @property
    def method(self) -> str | None:
        """What the verdicts mean, how often they are wrong, and what would be better."""
        tested = [row for row in self.rows if row["p_adjusted"] is not None]
        kinds = {row["told_under"] for row in tested}
        # What is judged together, by what it is.
        sizes = Counter(row["family"] for row in tested)
        together = grouped((family[1], count) for family, count in sizes.items())
        told = sentences(
            "comparison.j2",
            "method",
            context=self.context,
            together={name: sorted({*counts}) for name, counts in together.items()},
            of_tests=TESTS in kinds,
            of_runs="" in kinds,
            counts=percent(self.context.at_least),
            false_alarms=percent(FALSE_ALARMS),
            confidence=percent(CONFIDENCE),
        )
        return "\n".join(told) if tested else None

    @property
    def tables(self) -> list[Table]:
        """All rows, each group under its title."""
        found = []
        for title, own in grouped((row["group"], row) for row in self.rows).items():
            lines = [(row["name"], row | {"invalid": INVALID in doubts(row)}) for row in own]
            head = "Test" if own[0]["told_under"] == TESTS else "Stage"
            columns = _columns(own, self.marks, tied=self.tied)
            table = laid_out(title or AGAINST, lines, columns, head=head)
            found += [table] if table else []
        return found


def _outputs_in_short(outputs: Sequence[OutputComparison]) -> str:
    """Whether both sides computed the same, as far as it was compared."""
    by_found = grouped((output.found, output.stage) for output in outputs)
    if "different" in by_found:
        return f"Outputs differ: {listing(by_found['different'])}."
    known = {"same": "same bytes", "agrees": "agree within tolerance", "unknown": "not compared"}
    parts = [f"{known[found]} ({listing(stages)})" for found, stages in by_found.items()]
    return f"Outputs: {known[outputs[0].found] if len(by_found) == 1 else ', '.join(parts)}."


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


def ratio3(value: float | None) -> str:
    """Print three decimals: two would hide half of what `same` allows."""
    return ABSENT if value is None else f"{value:.3f}"

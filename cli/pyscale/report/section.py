"""What is said of one kind of work beside stages over N: one shape for every kind of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table as TerminalTable
from rich.text import Text

from pyscale.analysis.flags import SENTENCES, flags_of
from pyscale.analysis.referencemodel import Reference
from pyscale.analysis.trust import Trust, Trusted
from pyscale.report.page.values import Cell, Row, Table, cell_text
from pyscale.wording import few


@dataclass(frozen=True)
class Answer:
    """One answer: a word for the question, what a glance must catch, and the rest.

    Tests and scripts find it on the page by `answers`, in `data-answer`.
    """

    question: str
    answers: str
    head: Cell
    rest: Cell

    @property
    def text(self) -> str:
        """The whole of it as one sentence."""
        return f"{self.question}: {cell_text((*self.head, *self.rest))}"


@dataclass(frozen=True)
class Answered:
    """What a reader in a hurry must know of one subject; without trust where none was judged."""

    name: str
    answers: tuple[Answer, ...]
    trust: Trust | None = None
    reasons: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, answers: Iterable[Answer], trusted: Trusted) -> Answered:
        """Put answers beside the trust in them."""
        return cls(name, tuple(answers), trusted.grade, (*trusted.reasons, *trusted.notes))


@dataclass(frozen=True)
class Block:
    """Facts, sentences and tables under one heading, which the first may lack."""

    heading: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    folded: tuple[Table, ...] = ()
    """Tables that the page folds."""
    note: str = ""
    """What the tables hold."""
    is_folded: bool = False
    """Whether the page folds all of it."""
    is_on_page_alone: bool = False
    """Whether it is too long for the text."""


@dataclass(frozen=True)
class Section:
    """All that page, text, terminal and advice say of one kind of work."""

    kind: str
    title: str
    """The question."""
    blocks: tuple[Block, ...]
    figures: tuple[str, ...] = ()
    """Charts of the page; the first of a kind that leads may stand on the first screen."""
    answered: tuple[Answered, ...] = ()
    """The first screen."""
    nav: str = ""
    """Its name in the page's list of sections, where that is not its title."""
    heading: str = ""
    """The kind of work."""
    subject: str = ""
    """What a report on it alone is about."""
    ran: str = ""
    """What ran, in a line."""
    short: tuple[Table, ...] = ()
    """The tables for a terminal."""
    note: str = ""
    """What the numbers are."""
    narrow: int = 0
    """Columns that a narrow terminal has room for."""
    scales: tuple[str, ...] = ()
    """Choices for the axes of the chart on the first screen; the first is chosen."""
    leads: bool = True
    """Whether its answers stand above those on stages over N."""
    advises: bool = False
    """Whether its answers say what to ask for."""
    published: list[dict[str, Any]] = field(default_factory=list)
    """References beside the run."""
    doubts: tuple[str, ...] = ()
    paste: tuple[tuple[str, str], ...] = ()
    """What a line is, and the line."""
    pasted: str = ""
    """Whose settings these are."""

    @property
    def is_empty(self) -> bool:
        """Whether no block says anything."""
        return not any(one.facts or one.said or one.tables or one.folded for one in self.blocks)


def there(*tables: Table | None) -> tuple[Table, ...]:
    """Leave out tables of which nothing is known."""
    return tuple(table for table in tables if table is not None)


def summary(section: Section) -> Iterator[RenderableType]:
    """Lay out what a terminal shows of a section under its title; nothing where that is nothing."""
    told = [*_told(section)]
    yield from [Text(f"\n{section.title}", "bold"), *told] if told else ()


def _told(section: Section) -> Iterator[RenderableType]:
    """Answers, what to paste, tables and sentences."""
    for one in section.answered:
        if one.name != section.title:
            yield Text(f"\n{one.name}", "bold")
        yield from (Text(plain(answer.text)) for answer in one.answers)
    for what, line in section.paste:
        yield Text(f"{what}:")
        yield Text(line, "bold")
    shown = [block for block in section.blocks if not block.is_folded]
    for block in shown:
        if block.facts:
            yield Text("; ".join(f"{name}: {value}" for name, value in block.facts.items()))
    for table in section.short:
        yield Text(f"\n{table.caption}", "bold") if table.caption else Text()
        yield Fitted(
            terminal_table(table),
            terminal_table(table, section.narrow) if section.narrow else None,
            "The whole table needs a wider terminal; the report has it.",
        )
    for block in shown:
        who = f"{block.heading}: " if block.heading else ""
        yield from (Text(f"{who}{plain(sentence)}") for sentence in block.said)
    yield from (Text(plain(sentence)) for sentence in section.doubts)


def empty_table(padding: int = 0) -> TerminalTable:
    """Start a table of stages, in which their names give way before numbers do."""
    sides = (0, padding, 0, 0)
    table = TerminalTable(box=box.SIMPLE_HEAD, padding=sides, pad_edge=False, show_edge=False)
    table.add_column("stage", overflow="fold")
    return table


def terminal_table(shown: Table, most: int | None = None) -> TerminalTable:
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
    for own in table.columns[1:]:
        if own.no_wrap:
            # rich would shorten the numbers themselves where words have no more to give.
            texts = (str(text) for text in (own.header, *own.cells))
            own.min_width = max(cell_len(line) for text in texts for line in text.splitlines())
    return table


def plain(sentence: str) -> str:
    """Leave out what sets code in a text."""
    return sentence.replace("`", "")


@dataclass(frozen=True)
class Fitted:
    """The whole table where the terminal has room for it, else a shorter one and a line."""

    whole: TerminalTable
    short: TerminalTable | None
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


def doubts_of(
    rows: Sequence[Row],
    places: Callable[[list[Row]], Iterable[str]],
    all_of_them: str = "everywhere",
) -> Iterator[str]:
    """Give the sentence of every flag once, with the places that raise it."""
    for code, sentence in SENTENCES.items():
        if raised := [row for row in rows if code in flags_of(row)]:
            is_everywhere = len(raised) == len(rows) > 1
            where = all_of_them if is_everywhere else few(places(raised), joined="; ".join)
            yield f"`{code}` ({where}): {sentence}"


def beside(
    found: Iterable[tuple[Reference, Any]],
    lay_out: Callable[[str, Sequence[Row]], Table | None],
    note: str = "",
) -> list[dict[str, Any]]:
    """Lay out every reference that stands beside a run, with its caveats."""
    told = []
    for reference, table in found:
        hardware = "; ".join(f"{name} {what}" for name, what in reference.hardware.items())
        told.append(
            {
                "title": reference.title,
                "table": lay_out(f"Beside: {reference.title}", table.to_dicts()),
                "figures": f"Published: {reference.figures}; on {hardware}.{note}",
                "caveats": list(reference.caveats),
            }
        )
    return told

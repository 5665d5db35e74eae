"""What is said of work that ranks do together: one shape for every kind of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from pyscale.analysis.flags import SENTENCES, flags_of
from pyscale.report.fitted import Fitted, grouped_table, plain
from pyscale.report.machine.told import MOST_NAMED
from pyscale.report.page.answers import Answered
from pyscale.report.page.table import Table
from pyscale.report.page.values import Row, Writer, cell_text
from pyscale.report.wording import listing

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pyscale.references.model import Reference

Found = Iterable[tuple["Reference", pl.DataFrame]]
"""References, each with its rows that stand beside those of a run."""


class Short(NamedTuple):
    """The table for a terminal."""

    of: str
    """What its rows are named by."""
    columns: Mapping[str, Writer]
    rows: Sequence[tuple[str, Row]]
    narrow: int
    """Columns that a narrow terminal has room for."""


@dataclass(frozen=True)
class Section:
    """All that page, text, terminal and advice say of one kind of work.

    Attributes
    ----------
    kind, nav : str
        Of the section's id, and its name in the page's list of sections.
    title, heading, subject : str
        The question; the kind of work; and what a report on it alone is about.
    ran : str
        What ran, in a line.
    answered : tuple of Answered
        The first screen.
    said : tuple of str
        Sentences beside the tables.
    tables : tuple of Table
    folded, in_short : Table or None
        A long table that the page folds, and its rows that the text has.
    short : Short
    note : str
        What N is.
    figures : tuple of str
        Charts of the page; the first is that of the first screen.
    published : list of dict
        References beside the run.
    doubts, not_measured : tuple of str
    paste : tuple of (str, str)
        What a line is, and the line.
    pasted : str
        Whose settings these are.
    """

    kind: str
    nav: str
    title: str
    heading: str
    subject: str
    ran: str
    answered: tuple[Answered, ...]
    said: tuple[str, ...]
    tables: tuple[Table, ...]
    short: Short
    note: str
    figures: tuple[str, ...]
    published: list[dict[str, Any]]
    doubts: tuple[str, ...]
    not_measured: tuple[str, ...]
    folded: Table | None = None
    in_short: Table | None = None
    paste: tuple[tuple[str, str], ...] = ()
    pasted: str = ""


def summary(section: Section) -> Iterator[RenderableType]:
    """Lay a section out for a terminal: its answers, what to paste, a table and sentences."""
    from rich.text import Text

    yield Text(f"\n{section.title}", "bold")
    for one in section.answered:
        if one.name != section.title:
            yield Text(f"\n{one.name}", "bold")
        yield from (Text(plain(answer.text)) for answer in one.answers)
    for what, line in section.paste:
        yield Text(f"{what}:")
        yield Text(line, "bold")
    yield Text()
    of, columns, rows, narrow = section.short
    cells = [(name, [cell_text(write(row)) for write in columns.values()]) for name, row in rows]
    headers = list(columns)
    yield Fitted(
        grouped_table(of, headers, cells),
        grouped_table(of, headers[:narrow], cells),
        "The whole table needs a wider terminal; the report has it.",
    )
    yield from (Text(plain(sentence)) for sentence in (*section.said, *section.doubts))


def ranks(count: int) -> str:
    """Write a number of ranks."""
    return f"{count} rank{'s' * (count != 1)}"


def told_doubts(row: Row) -> str:
    """Flags of a configuration, and the error of one that failed."""
    return "; ".join([*flags_of(row), *([row["error"]] if row["error"] else [])])


def trials_of(points: Sequence[Row]) -> str:
    """State the numbers of ranks and of trials."""
    counts = sorted({row["workers"] for row in points})
    repeats = sorted({row["repeats"] for row in points})
    times = " to ".join(map(str, dict.fromkeys((repeats[0], repeats[-1]))))
    trials = "trial" if repeats == [1] else "trials"
    on = ranks(counts[0]) if len(counts) == 1 else f"N = {listing(counts)} ranks"
    return f"on {on}, {times} timed {trials} of each"


def named(rows: Iterable[Row], names: Mapping[str, str]) -> list[tuple[str, Row]]:
    """Put its name before every row."""
    return [(names[row["stage"]], row) for row in rows]


def failed(points: Sequence[Row], names: Mapping[str, str]) -> Iterator[str]:
    """Name every configuration that failed, with its error."""
    for name, row in named(points, names):
        if row["error"]:
            some = " in some trials" if row["repeats"] else ""
            yield f"{name} at N = {row['workers']} failed{some}: {row['error']}"


def doubts_of(points: Sequence[Row], names: Mapping[str, str]) -> Iterator[str]:
    """Give the sentence of every flag once, with the configurations that raise it."""
    raised: dict[str, list[Row]] = {}
    for row in points:
        for code in flags_of(row):
            raised.setdefault(code, []).append(row)
    for code in filter(raised.__contains__, SENTENCES):
        counts: dict[str, list[int]] = {}
        for name, row in named(raised[code], names):
            counts.setdefault(name, []).append(row["workers"])
        places = [f"{name} at N = {listing(own)}" for name, own in counts.items()]
        if len(places) > MOST_NAMED:
            places[MOST_NAMED:] = [f"{len(places) - MOST_NAMED} more"]
        where = "everywhere" if len(raised[code]) == len(points) > 1 else "; ".join(places)
        yield f"`{code}` ({where}): {SENTENCES[code]}"


def beside(
    found: Found, lay_out: Callable[[str, Sequence[Row]], Table | None], note: str = ""
) -> list[dict[str, Any]]:
    """Lay out every reference that stands beside a run, with its caveats."""
    return [
        {
            "title": reference.title,
            "table": lay_out(f"Beside: {reference.title}", table.to_dicts()),
            "figures": f"Published: {reference.figures}; on "
            f"{'; '.join(f'{name} {told}' for name, told in reference.hardware.items())}.{note}",
            "caveats": list(reference.caveats),
        }
        for reference, table in found
    ]

"""What counts beside wall times, of two runs compared: in sentences and for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import polars as pl

from pyscale.analysis.judging import OTHER_WORK, reasons
from pyscale.analysis.samples import MEASURED, MEASURES, TITLE, is_primary
from pyscale.report.comparison import (
    ComparisonContext,
    Row,
    empty_table,
    in_short,
    marks_of,
    named,
    ratio3,
    verdict_of,
    verdicts_mean,
)
from pyscale.report.measured import titled
from pyscale.report.wording import ABSENT, listing, number, with_interval

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


WAYS = {"worse": "worse", "slower": "perhaps worse", "faster": "perhaps better"}
"""Verdicts on numbers that are no times; that of `better` is called so."""
NEITHER = {
    "worse": "higher",
    "slower": "perhaps higher",
    "better": "lower",
    "faster": "perhaps lower",
}
"""The same of numbers of which neither is better."""


def conclusions(table: pl.DataFrame, at_least: float) -> Iterator[str]:
    """Answer for each kind in one sentence, by what decides; for each number by itself."""
    for kind, rows in _by_kind(table.filter(is_primary())):
        if kind == MEASURED:
            for name in dict.fromkeys(row["value"] for row in rows):
                own = [row for row in rows if row["value"] == name]
                yield from _told(
                    name, in_short(own, at_least, "times as much", ("worse", "better"))
                )
            continue
        measure = MEASURES[kind]
        times = f"times the {measure.unit}" if measure.better == "higher" else "times as long"
        yield from _told(measure.title, in_short(rows, at_least, times))


def _told(title: str, told: str | None) -> Iterator[str]:
    if told is not None:
        yield f"{title}: {told[0].lower()}{told[1:]}"


def title_of(kind: str) -> str:
    """Title of a kind."""
    return TITLE if kind == MEASURED else MEASURES[kind].title


def differing(table: pl.DataFrame) -> Iterator[str]:
    """Say what was not compared, as one run alone has it or its work is another."""
    for kind, rows in _by_kind(table.filter(is_primary())):
        title = title_of(kind)
        other = [row for row in rows if row["reason"] == OTHER_WORK]
        if other:
            works = f"{other[0]['base_work']} in base and {other[0]['new_work']} in new"
            yield f"{title}: not compared, as the work is another ({works}): {named(other)}."
        for side, absent in (("base", "new"), ("new", "base")):
            alone = [row for row in rows if row[f"{absent}_repeats"] is None]
            if alone:
                yield f"{title}: in {side} alone: {named(alone)}."


def method(table: pl.DataFrame, context: ComparisonContext) -> str | None:
    """Explain the verdicts and their limits; None without any."""
    tested = table.drop_nulls("p_adjusted")
    if tested.is_empty():
        return None
    counts = tested.group_by("kind", "value", maintain_order=True).len()["len"].unique()
    return verdicts_mean(
        "One-sided Mann-Whitney tests of all timed trials, adjusted by Holm's method over all "
        f"configurations of one value that have enough of them ({listing(counts.sort())}).",
        "among those of one value",
        at_least=context.at_least,
        scatter=context.runs_differ_by,
    )


def shown(table: pl.DataFrame, context: ComparisonContext) -> RenderableType:
    """Lay the verdicts out, a table for each kind, and what they rest on."""
    from rich.console import Group
    from rich.text import Text

    judged = table.drop_nulls("verdict")
    sentences = reasons(context.at_least)
    marks = marks_of(judged.to_dicts(), sentences)
    parts: list[RenderableType] = []
    for kind, rows in _by_kind(judged):
        parts += [Text(f"\n{title_of(kind)}", "bold"), _verdicts(rows, marks)]
    parts += [
        Text.assemble((mark, "bold"), f": {sentences[reason]}") for reason, mark in marks.items()
    ]
    said = method(table, context)
    parts += map(Text, [*differing(table), *([said] if said else [])])
    return Group(*parts)


def _verdicts(rows: Sequence[Row], marks: dict[str, str]) -> Table:
    """Lay out one kind, with a column of values where there are several."""
    from rich.text import Text

    is_measured = rows[0]["kind"] == MEASURED
    table = empty_table()
    table.add_column("stage", overflow="fold")
    table.add_column("N", justify="right", no_wrap=True)
    several = is_measured or len({row["value"] for row in rows}) > 1
    of_values = ("value",) if several else ()
    unit = "" if is_measured else f" {rows[0]['unit']}"
    for header in (*of_values, f"base{unit}", f"new{unit}", "new / base", "verdict"):
        table.add_column(header, no_wrap=True)
    for (stage, workers), own in groupby(rows, lambda row: (row["stage"], row["workers"])):
        for place, row in enumerate(found := list(own)):
            ratio = (ratio3(row[end]) for end in ("ratio", "ratio_low", "ratio_high"))
            table.add_row(
                Text("" if place else stage),
                "" if place else str(workers),
                *((titled(row["value"], row["unit"] if is_measured else ""),) if several else ()),
                *(_amount(row, side) for side in ("base", "new")),
                Text(with_interval(*ratio)),
                verdict_of(_in_words(row) if is_measured else row, marks),
                end_section=several and place + 1 == len(found),
            )
    return table


def _in_words(row: Row) -> Row:
    """Give the verdict on a number in words that fit it."""
    words = WAYS if row["better"] else NEITHER
    return row | {"verdict": words.get(row["verdict"], row["verdict"])}


def _amount(row: Row, side: str) -> str:
    if row[f"{side}_repeats"] is None:
        return ABSENT
    return f"{number(row[f'{side}_amount'])} ({row[f'{side}_repeats']})"


def _by_kind(table: pl.DataFrame) -> Iterator[tuple[str, list[Row]]]:
    """Rows of each kind, with the device that names of configurations ask for."""
    rows = table.with_columns(device=pl.lit(None, pl.String)).to_dicts()
    for kind, own in groupby(rows, lambda row: str(row["kind"])):
        yield kind, list(own)

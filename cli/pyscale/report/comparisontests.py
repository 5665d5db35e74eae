"""Tests of two machines compared, in sentences and for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import polars as pl

from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.judging import MARGIN
from pyscale.analysis.judging import reasons as reasons_of
from pyscale.analysis.machine.speedups import OF_RATES, WHY_NOT
from pyscale.report.comparison import STYLES, empty_table, ratio3, verdicts_mean, words
from pyscale.report.machine.words import NOT_APPLICABLE, rate_parts
from pyscale.report.viewer.machines import group_of, name_of
from pyscale.report.wording import ABSENT, listing, number, with_interval

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

Row = dict[str, Any]

MOST_NAMED = 6
"""Tests of a verdict that a sentence names: those that differ most."""
RATES = "rates"
_TEST_REASONS = {
    "few-trials": (
        f"Fewer than {repeats_needed()} timed trials in one of the two: pyscale gives no verdict, "
        "however large the difference (repeats inside one process are not independent trials)."
    ),
    "many-configurations": (
        "Too many tests for this number of trials: no difference, however large, could be "
        "distinguished from chance. Time more trials or compare fewer tests."
    ),
}


def summary(table: pl.DataFrame, at_least: float = MARGIN) -> Iterator[str]:
    """Count the slower, faster and equal tests, and name those that differ most."""
    rows = table.to_dicts()
    both = [row for row in rows if row["verdict"] is not None]
    for verdict, word in words(at_least).items():
        own = [row for row in both if row["verdict"] == verdict]
        if own:
            most = f" ({_most(own)})" if verdict in STYLES else ""
            yield f"{word.capitalize()}: {len(own)} of {_tests(len(both))}{most}."
    other = [row for row in rows if row["why_not"] is not None]
    if other:
        yield f"Timed in both, but not compared: {_tests(len(other))}."
    for present, absent, side in (("base", "new", "the baseline"), ("new", "base", "the other")):
        alone = [
            row
            for row in rows
            if row[f"{present}_repeats"] is not None and not row[f"{absent}_repeats"]
        ]
        if alone:
            yield f"Timed in {side} alone: {_tests(len(alone))}."


def reasons(table: pl.DataFrame, at_least: float = MARGIN) -> Iterator[str]:
    """Explain missing verdicts, and ratios of rates."""
    for code, sentence in (reasons_of(at_least) | _TEST_REASONS).items():
        if (table["reason"] == code).any():
            yield sentence
    for code, sentence in WHY_NOT.items():
        if (table["why_not"] == code).any():
            yield sentence.replace("No speedup", "Not compared")
    if (table["basis"] == "rate").any():
        yield OF_RATES


def method(table: pl.DataFrame, at_least: float = MARGIN) -> str | None:
    """Explain the verdicts and their limits; None without any."""
    tested = table.drop_nulls("p_adjusted")
    if tested.is_empty():
        return None
    families = ["kind", "entry", "processes", "device"]
    counts = tested.group_by(families, maintain_order=True).len()["len"]
    told = verdicts_mean(
        "One-sided Mann-Whitney tests of the trials, each the median over the repeats of its own "
        "process, adjusted by Holm's method over the tests of one kind and device with enough "
        f"trials ({listing(counts)}).",
        "among those of one kind and device",
        at_least=at_least,
    )
    return (
        f"{told} The trials of a run follow each other within minutes: other work on the machine "
        "during one of the two runs makes that run slower."
    )


def named(rows: Sequence[Row]) -> str:
    """Name tests, each with its kind."""
    return ", ".join(f"{row['kind']} {_name(row, rows)}" for row in rows)


def shown(table: pl.DataFrame, at_least: float = MARGIN) -> RenderableType:
    """Lay out every test that one of the two did, group by group, with its verdict."""
    from rich.console import Group
    from rich.text import Text

    rows = table.to_dicts()
    parts: list[RenderableType] = []
    for group, found in groupby(rows, key=_group):
        own = list(found)
        parts += [Text(f"\n{group}", style="bold"), _verdicts(own)]
    parts.append(Text())
    parts += map(Text, summary(table, at_least))
    parts += map(Text, reasons(table, at_least))
    told = method(table, at_least)
    return Group(*parts, *([Text(told)] if told else []))


def _group(row: Row) -> str:
    node = "" if row["node"] is None else f", {row['node']}"
    return group_of(row["kind"], row["device"], row["processes"], row["entry"]) + node


def _verdicts(rows: Sequence[Row]) -> Table:
    from rich.text import Text

    table = empty_table()
    table.add_column("test", overflow="fold")
    for header in ("baseline", "new", "new / baseline"):
        table.add_column(header, no_wrap=True)
    table.add_column("verdict", overflow="fold")
    for row in rows:
        ratio = with_interval(*(ratio3(row[end]) for end in ("ratio", "ratio_low", "ratio_high")))
        verdict = Text(row["verdict"] or ABSENT, style=STYLES.get(row["verdict"] or "", ""))
        if row["verdict"] is None:
            verdict = Text(_why_no_verdict(row))
        if row["basis"] == "rate":
            verdict.append(f" (of {RATES})")
        cells = (_time(row, "base"), _time(row, "new"))
        table.add_row(Text(_name(row, rows)), *map(Text, cells), Text(ratio), verdict)
    return table


def _time(row: Row, side: str) -> str:
    """Time with its number of trials; rates where these are compared."""
    if row[f"{side}_repeats"] is None:
        return ABSENT
    if row["basis"] == "rate" and row[f"{side}_rate"] is not None:
        scale, unit = rate_parts(row[f"{side}_rate"], row["unit"])
        return f"{number(row[f'{side}_rate'] / scale)} {unit} ({row[f'{side}_repeats']})"
    return f"{number(row[f'{side}_wall_s'])} s ({row[f'{side}_repeats']})"


def _why_no_verdict(row: Row) -> str:
    if row["why_not"] is not None:
        return f"not compared ({row['why_not'].replace('-', ' ')})"
    base, new = (_not_applicable(row[f"{side}_why_not"]) for side in ("base", "new"))
    if base and base != new:
        return f"baseline: {base}"
    if new:
        return new if base else f"new: {new}"
    return f"in {'baseline' if row['new_repeats'] is None else 'new'} alone"


def _not_applicable(why: str | None) -> str:
    if not why:
        return ""
    return why if why.startswith(NOT_APPLICABLE) else f"{NOT_APPLICABLE}: {why}"


def _name(row: Mapping[str, Any], rows: Sequence[Row]) -> str:
    counts = {
        other["at_once"]
        for other in rows
        if (other["kind"], other["test"]) == (row["kind"], row["test"])
    }
    return name_of(
        *(row["kind"], row["test"], row["at_once"], row["step"]), tell_at_once=len(counts) > 1
    )


def _most(rows: Sequence[Row]) -> str:
    """Name the tests that differ most, with their ratios."""
    ordered = sorted(rows, key=lambda row: row["ratio"], reverse=rows[0]["ratio"] > 1)
    first = ordered[:MOST_NAMED]
    texts = [f"{row['kind']} {_name(row, rows)} {row['ratio']:.2f}" for row in first]
    more = len(ordered) - len(first)
    return ", ".join(texts) + (f" and {more} more" if more else "")


def _tests(count: int) -> str:
    return f"{count} test{'' if count == 1 else 's'}"

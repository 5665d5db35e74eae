"""Judged values of two sides, whatever was measured: one table of rows, in words and laid out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import polars as pl

from pyscale.analysis.judging import MARGIN, OTHER_WORK, SIDES
from pyscale.analysis.judging import reasons as reasons_of
from pyscale.analysis.machine.beside import WHY_NOT
from pyscale.report.viewer.machines import group_of, name_of
from pyscale.wording import ABSENT, INVALID, at_each_n, listing, ratio, titled
from pyscale_stages.wording import plural

Row = dict[str, Any]

TIMES = "wall times"
TESTS = "Tests of the machine"
SHOWN = frozenset({"told_under", "group", "family", "amount_unit"})
"""Of a row: what only its layout asks for."""
MOST_NAMED = 6
"""Tests that a sentence names: those that differ most."""
OTHER_RESULT = "other result"
"""Beside the verdict on a version whose output is not the base's: its time proves nothing."""


def judged(times: pl.DataFrame | None = None, tests: pl.DataFrame | None = None) -> list[Row]:
    """Give a row for everything that either of two sides has, with the verdict where both do.

    The tables are those of `comparison` and, a node each, of `compared_tests`, both of
    `pyscale.analysis`. Beside their columns each row has `kind`, `name` and `unit`, and the amounts
    `base` and `new`; `told_under` is what its verdicts are summed up under, `group` the title of
    its table, and what has one `family` was judged together. `reason` says why there is not
    enough data, or no verdict.
    """
    rows: list[Row] = []
    for of_kind, table in ((_of_times, times), (_of_tests, tests)):
        if table is not None:
            rows += of_kind(table)
    return rows


def _of_times(table: pl.DataFrame) -> Iterator[Row]:
    rows = table.to_dicts()
    same = {"told_under": "", "group": "", "family": (TIMES, "wall times")}
    for row in rows:
        named = {"kind": TIMES, "name": stage_name(row, rows), "unit": "s"}
        walls = {side: row[f"{side}_wall_s"] for side in SIDES}
        yield row | named | walls | same


def _of_tests(table: pl.DataFrame) -> Iterator[Row]:
    rows = table.to_dicts()
    counts: dict[tuple[str, str], set[int]] = {}
    for row in rows:
        counts.setdefault((row["kind"], row["test"]), set()).add(row["at_once"])
    for row in rows:
        kind, test = row["kind"], row["test"]
        of_rates = row["basis"] == "rate" and None not in (row["base_rate"], row["new_rate"])
        node = "" if row.get("node") is None else f", {row['node']}"
        family = (kind, row["entry"], row["processes"], row["device"])
        several = len(counts[kind, test]) > 1
        yield row | {
            "name": name_of(kind, test, row["at_once"], row["step"], tell_at_once=several),
            "workers": None,
            "unit": f"{row['unit']}/s" if of_rates else "s",
            **{side: row[f"{side}_{'rate' if of_rates else 'wall_s'}"] for side in SIDES},
            "amount_unit": row["unit"] if of_rates else None,
            "reason": row["reason"] or row["why_not"],
            "told_under": TESTS,
            "group": group_of(kind, row["device"], row["processes"], row["entry"]) + node,
            "family": (row.get("node"), "tests of one kind and device", *family),
        }


def stage_name(row: Row, rows: Sequence[Row]) -> str:
    """Name the stage of a row of a comparison, with its device where there are several."""
    devices = {other["device"] for other in rows if other["stage"] == row["stage"]}
    return f"{row['stage']} ({row['device']})" if len(devices) > 1 else str(row["stage"])


def named(rows: Sequence[Row]) -> str:
    """Name configurations as `segment at N = 1 and 2; track at N = 4`, and tests after them."""
    told = at_each_n((row["name"], row["workers"]) for row in rows if row["workers"] is not None)
    tests = [f"{row['kind']} {row['name']}" for row in rows if row["workers"] is None]
    return "; ".join([*told, *([", ".join(tests)] if tests else [])])


def conclusions(rows: Sequence[Row], at_least: float = MARGIN) -> Iterator[tuple[str, str]]:
    """Answer under the title of each kind whether the new one is slower."""
    for title, own in by(rows, "told_under"):
        told = _in_short([row for row in own if row["verdict"]], at_least)
        if told is not None:
            yield title, told


def _in_short(rows: Sequence[Row], at_least: float) -> str | None:
    if not rows:
        return None
    told = []
    for way, verdicts in (
        ("slower", ("worse", "slower")),
        ("faster", ("better", "faster")),
        (f"the same within {percent(at_least)}", ("same",)),
    ):
        own = [row for row in rows if row["verdict"] in verdicts]
        if own:
            so_many = "" if "same" in verdicts else f" ({_so_many(own)})"
            told.append(f"{way} for {_where(own, rows, 'every')}{so_many}")
    unknown = [row for row in rows if row["verdict"] == "not enough data"]
    lacking = ""
    if unknown:
        lacking = f"not enough data for {_where(unknown, rows, 'any')}, see --repeats"
    said = "; ".join(filter(None, (f"New is {', '.join(told)}" if told else "", lacking)))
    return f"{titled(said)}."


def _where(own: Sequence[Row], rows: Sequence[Row], all_of_them: str) -> str:
    """Name what a verdict holds for; of tests those that differ most."""
    if rows[0]["told_under"] != TESTS:
        return f"{all_of_them} configuration" if len(own) == len(rows) else named(own)
    tests = f"{len(own)} of {plural(len(rows), 'test')}"
    if own[0]["verdict"] in {"same", "not enough data"}:
        return tests
    first = sorted(own, key=lambda row: row["ratio"], reverse=own[0]["ratio"] > 1)[:MOST_NAMED]
    texts = [f"{row['kind']} {row['name']} {ratio(row['ratio'])}" for row in first]
    more = len(own) - len(first)
    return f"{tests}: {', '.join(texts)}{f' and {more} more' if more else ''}"


def _so_many(rows: Sequence[Row]) -> str:
    least, most = (ratio(choose(row["ratio"] for row in rows)) for choose in (min, max))
    return f"{least if least == most else f'{least} to {most}'} times as long"


def not_judged(rows: Sequence[Row]) -> Iterator[str]:
    """Say what was not compared, as one side alone has it or it is not alike."""
    for title, own in by(rows, "told_under"):
        head = f"{title}: " if title else "Stages: "
        other = [row for row in own if row["verdict"] is None and row["reason"]]
        if unlike := [row for row in other if row["reason"] == OTHER_WORK]:
            yield f"{head}not compared, as the work is another: {named(unlike)}."
        if tests := [row for row in other if row["reason"] != OTHER_WORK]:
            yield f"{head}in both, but not compared: {plural(len(tests), 'test')}."
        for side, absent in (SIDES, SIDES[::-1]):
            alone = [
                row
                for row in own
                if row[f"{side}_repeats"] is not None and not row[f"{absent}_repeats"]
            ]
            if alone:
                many = plural(len(alone), "test") if title == TESTS else named(alone)
                yield f"{head}in {side} alone: {many}."


def percent(share: float) -> str:
    """Print a share as 5 %, with the digits that it has."""
    return f"{100 * share:.3g} %"


def reasons(rows: Sequence[Row], at_least: float, *, paired: bool = False) -> dict[str, str]:
    """Explain why there is not enough data, or no verdict, as far as rows say so."""
    given = {row["reason"] for row in rows}
    known = reasons_of(at_least, paired=paired)
    if any(row["told_under"] == TESTS for row in rows):
        known["few-trials"] += " Repeats inside one process are not independent trials."
    known[OTHER_WORK] = "Not compared: the work of N workers differs."
    known |= {code: why.replace("No speedup", "Not compared") for code, why in WHY_NOT.items()}
    return {code: sentence for code, sentence in known.items() if code in given}


def judged_together(rows: Iterable[Row]) -> str:
    """Count what was tested together, by what it is."""
    counts = Counter(row["family"] for row in rows if row["p_adjusted"] is not None)
    by_name: dict[str, set[int]] = {}
    for family, count in counts.items():
        by_name.setdefault(family[1], set()).add(count)
    return "; ".join(f"{name} ({listing(sorted(found))})" for name, found in by_name.items())


def doubts(row: Row) -> list[str]:
    """Doubts whether a verdict on wall times compares two equal results."""
    found = [INVALID] if any(row.get(f"{side}_invalid") for side in SIDES) else []
    score, least = row.get("output_agreement"), row.get("output_tolerance")
    is_other = score is not None and least is not None and score < least
    return [*found, *([OTHER_RESULT] if is_other else [])]


def ratio3(value: float | None) -> str:
    """Print three decimals: two would hide half of what `same` allows."""
    return ABSENT if value is None else f"{value:.3f}"


def by(rows: Iterable[Row], column: str) -> Iterator[tuple[str, list[Row]]]:
    """Rows of each value of a column, in the order of the first of each."""
    order = {value: place for place, value in enumerate(dict.fromkeys(r[column] for r in rows))}
    # `groupby` takes equal ones that follow each other, in an order that the sort keeps.
    ordered = sorted(rows, key=lambda row: order[row[column]])
    for value, own in groupby(ordered, lambda row: str(row[column])):
        yield value, list(own)

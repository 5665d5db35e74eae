"""Two runs, two tables of wall times or two versions that are compared: what is judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl
from pydantic import Field

from pyscale.analysis.judging import MARGIN, OTHER_WORK, SIDES
from pyscale.analysis.judging import reasons as reasons_of
from pyscale.analysis.machine.beside import GPU, PROCESSOR, WHY_NOT
from pyscale.planning.runfacts import Difference
from pyscale.wording import INVALID, at_each_n, ratio, titled
from pyscale_stages.contract import Record
from pyscale_stages.wording import plural

Row = dict[str, Any]

TIMES = "wall times"
TESTS = "Tests of the machine"
AT_ONCE = {"storage": "reader", "decompress": "thread"}
"""What `at_once` counts, where it is no thread of a kernel."""
SHOWN = frozenset({"told_under", "group", "family", "amount_unit"})
"""Of a row: what only its layout asks for."""
MOST_NAMED = 6
"""Tests that a sentence names: those that differ most."""
OTHER_RESULT = "other result"
"""Beside the verdict on a version whose output is not the base's: its time proves nothing."""


class OutputComparison(Record):
    """Whether a stage's outputs are the same in both runs, or in both versions of one run."""

    stage: str
    found: Literal["same", "agrees", "different", "unknown"] = Field(
        description="Of runs by the bytes of the reference outputs; of versions by the stage's own "
        "check, which also says that they agree; unknown where one of them left no record"
    )
    score: float | None = Field(None, description="Of versions: the lowest at any N")
    tolerance: float | None = Field(None, description="The smallest that counts as the same")
    measure: str | None = Field(None, description="What the score is, in words")
    files: tuple[str, ...] = Field((), description="Files that differ, or that one run lacks")
    read_by: tuple[str, ...] = Field((), description="Stages whose input the output is")


@dataclass(frozen=True)
class VersionComparison:
    """What the two versions that one run measured show.

    The table is as `pyscale.analysis.comparison.comparison` gives it, with `output_agreement`,
    `output_tolerance`, `output_identical` and `output_measure`: of the new output with the base's.
    """

    context: ComparisonContext
    table: pl.DataFrame


class ComparisonContext(Record):
    """What a comparison must say that no wall time holds."""

    base: str = Field(description="What the ratios are to, in words")
    new: str = Field(description="What is judged, in words")
    measured_here: bool = Field(description="Whether these are runs, not tables of wall times")
    differences: tuple[Difference, ...] = ()
    of_ranks: bool = Field(
        False, exclude=True, description="Whether ranks load or reconstruct together"
    )
    uncommitted: bool = Field(
        False, description="Both ran from one commit, with changes that nobody recorded"
    )
    missing: dict[str, str] = Field(
        default_factory=dict, description="How many planned trials left no record, by side"
    )
    outputs: tuple[OutputComparison, ...] = ()
    nothing_in_common: str | None = Field(
        None, exclude=True, description="What each measured, where nothing of it is the same"
    )
    at_least: float = Field(MARGIN, description="Least change that counts: 0.05 is 5 %")
    paired: bool = Field(False, description="Whether both were timed in the same blocks")
    interleaved: str | None = Field(
        None, description="Line that would time both in the same blocks; None where none does"
    )


def judged(times: pl.DataFrame | None = None, tests: pl.DataFrame | None = None) -> list[Row]:
    """Give a row for everything that either of two sides has, with the verdict where both do.

    The tables are those of `comparison` and, a node each, of `compared_tests`, both of
    `pyscale.analysis`. Beside their columns each row has `kind`, `name` and `unit`, and the amounts
    `base` and `new`; `told_under` is what its verdicts are summed up under, `group` the title of
    its table, and what has one `family` was judged together. `reason` says why there is not
    enough data, or no verdict.
    """
    of_times = () if times is None else _of_times(times)
    return [*of_times, *(() if tests is None else _of_tests(tests))]


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


def name_of(kind: str, test: str, at_once: int, step: str | None, *, tell_at_once: bool) -> str:
    """Call a test by its name, with its step, and with how many did it where that varies."""
    name = test if step is None else f"{test}: {step}"
    what = f"{AT_ONCE.get(kind, 'thread')}{'' if at_once == 1 else 's'}"
    return f"{name}, {at_once} {what}" if tell_at_once else name


def group_of(kind: str, device: str, processes: int, entry: str | None) -> str:
    """Name the tests of one kind, device and number of processes."""
    the = f"the {device}" if device in {PROCESSOR, GPU} else device
    on = "" if device == PROCESSOR and kind != "kernels" else f" on {the}"
    together = "" if processes == 1 else f", {processes} processes at once"
    named = "" if entry in {None, kind} else f" ({entry})"
    return f"{kind}{named}{on}{together}"


def stage_name(row: Row, rows: Sequence[Row]) -> str:
    """Name the stage of a row of a comparison, with its device where there are several."""
    devices = {other["device"] for other in rows if other["stage"] == row["stage"]}
    return f"{row['stage']} ({row['device']})" if len(devices) > 1 else str(row["stage"])


def named(rows: Sequence[Row]) -> str:
    """Name configurations as `segment at N = 1 and 2; track at N = 4`, and tests after them."""
    told = at_each_n((row["name"], row["workers"]) for row in rows if row["workers"] is not None)
    tests = [f"{row['kind']} {row['name']}" for row in rows if row["workers"] is None]
    return "; ".join([*told, *([", ".join(tests)] if tests else [])])


def in_short(rows: Sequence[Row], at_least: float) -> str:
    """Say in a sentence for what the new one is slower, faster, or the same."""
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


def doubts(row: Row) -> list[str]:
    """Doubts whether a verdict on wall times compares two equal results."""
    found = [INVALID] if any(row.get(f"{side}_invalid") for side in SIDES) else []
    score, least = row.get("output_agreement"), row.get("output_tolerance")
    is_other = score is not None and least is not None and score < least
    return [*found, *([OTHER_RESULT] if is_other else [])]

"""The page of several runs: each run, what is said of it, and the viewer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import polars as pl
from pydantic import Field

from pyscale.analysis.judging import OTHER_WORK
from pyscale.planning.runfacts import Differing
from pyscale.report.comparison import (
    ComparisonContext,
    conclusion,
    method,
    output_remarks,
    remarks,
    words,
)
from pyscale.report.judged import TIMES, Row, judged, named, not_judged, ratio3, reasons
from pyscale.report.page.shell import page_data, rendered
from pyscale.report.page.values import Cell, Numbers
from pyscale.report.palette import colour_rows
from pyscale.report.viewer.build import SideBySide, comparison_table
from pyscale.report.viewer.chart import DATASET, bars
from pyscale.report.viewer.machines import machine_viewer
from pyscale.report.viewer.model import Column
from pyscale.report.viewer.stages import viewer
from pyscale.wording import listing
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record

OF_VIEWER = Numbers(table="viewer", key=("column", "stage", "device", "workers", "part"))
OTHER_INPUT = (
    "Not compared in time: its input has not the bytes of the base's, so that its work is another."
)


@dataclass(frozen=True)
class Several:
    """Runs that are compared with the first of them.

    `contexts` say what each of the others has in common with the first, and `samples` compare what
    counts beside wall times (empty where none has any). `differing` is what not all have in common;
    `machines` are the tests of the machine of those that have any.
    """

    found: SideBySide
    started: Sequence[datetime | None]
    contexts: Sequence[ComparisonContext]
    differing: Sequence[Differing]
    machines: SideBySide | None = None
    samples: Sequence[pl.DataFrame] = ()


class Verdict(Record):
    """What was found of one stage at one N."""

    word: str | None = Field(description="None where nothing was compared")
    text: str = Field(description="For people: a time is longer or shorter, not worse or better")
    ratio: Cell = Field(description="New wall time over the base's")
    ends: Cell = Field(description="Of its interval")


class Judged(Record):
    """One run, or its tests of the machine, against the first."""

    refused: str | None = Field(None, description="Why nothing of it is compared")
    summary: tuple[str, ...] = Field((), description="The verdicts in sentences")
    reasons: tuple[str, ...] = Field((), description="Why there is not enough data, in sentences")
    verdicts: dict[tuple[str, int], Verdict] = Field(
        default_factory=dict, description="By stage and N, as far as both measured it"
    )
    remarks: tuple[str, ...] = Field((), description="What the ratios compare beside the code")
    method: str | None = Field(None, description="What the verdicts mean")


class ComparedRun(Column):
    """One of the runs, whose link leads to its own report."""

    started: datetime | None = None
    judged: Judged | None = Field(None, description="None of the first, which is the base")


def compared_runs(several: Several) -> list[ComparedRun]:
    """Say of each run what it is, and how it compares with the first."""
    return [
        ComparedRun(**dict(column), started=started, judged=_judged(several, place))
        for place, (column, started) in enumerate(
            zip(several.found.columns, several.started, strict=True)
        )
    ]


def _judged(several: Several, place: int) -> Judged | None:
    if place == 0:
        return None
    # The first run is the base of all contexts, and has none itself.
    context = several.contexts[place - 1]
    table = several.found.pairs.get((0, place))
    said = tuple(remarks(context))
    if context.nothing_in_common:
        return Judged(refused=f"Not compared: {context.nothing_in_common}.", remarks=said)
    if table is None:
        return Judged(refused=OTHER_INPUT, remarks=said)
    rows = judged(table, several.samples[place - 1] if several.samples else None)
    verdicts = {
        (row["name"], row["workers"]): _verdict(row, several.found.columns[place].id)
        for row in rows
        if row["kind"] == TIMES and (row["verdict"] or row["reason"] == OTHER_WORK)
    }
    told = (*said, *output_remarks(context, rows))
    return _told(context, rows).model_copy(update={"verdicts": verdicts, "remarks": told})


def _told(context: ComparisonContext, rows: Sequence[Row]) -> Judged:
    concluded = conclusion(context, rows)
    why = []
    for reason, sentence in reasons(rows, context.at_least).items():
        own = [row for row in rows if row["reason"] == reason and row["workers"] is not None]
        why.append(f"{named(own)}: {sentence}" if own else sentence)
    return Judged(
        summary=(*([concluded] if concluded else []), *not_judged(rows)),
        reasons=tuple(why),
        method=method(context, rows),
    )


def _verdict(row: Row, column: str) -> Verdict:
    at = row | {"column": column, "part": None}
    low, high = (OF_VIEWER.cell(at, f"ratio_{end}", ratio3) for end in ("low", "high"))
    return Verdict(
        word=row["verdict"],
        text=words()[row["verdict"]] if row["verdict"] else "not compared",
        ratio=() if row["ratio"] is None else OF_VIEWER.cell(at, "ratio", ratio3),
        ends=() if row["ratio_low"] is None else (*low, " to ", *high),
    )


def verdict_lines(runs: Sequence[ComparedRun]) -> list[tuple[str, int, list[Verdict | None]]]:
    """Line up the verdicts on all runs but the first, by stage and then by N."""
    judged = [run.judged for run in runs if run.judged is not None]
    found = dict.fromkeys(key for one in judged for key in one.verdicts)
    stages = list(dict.fromkeys(stage for stage, _ in found))
    ordered = sorted(found, key=lambda key: (stages.index(key[0]), key[1]))
    return [
        (stage, workers, [one.verdicts.get((stage, workers)) for one in judged])
        for stage, workers in ordered
    ]


def machines_told(several: Several) -> list[ComparedRun]:
    """Say of each column of tests but the first how it compares with the first."""
    if several.machines is None:
        return []
    return [
        ComparedRun(
            **dict(column),
            judged=_told(several.contexts[0], judged(tests=table)),
        )
        for place, column in enumerate(several.machines.columns)
        if (table := several.machines.pairs.get((0, place))) is not None
    ]


def what_differs(several: Several) -> str:
    """Say in a sentence of what kind the differences are."""
    kinds = list(dict.fromkeys(found.kind for found in several.differing))
    if not kinds:
        return "Nothing that was recorded differs between the runs."
    return f"The runs differ in {listing(kinds)}."


NAME = "comparison.html"
FIRST_SCREEN = 8
"""Differences that the first screen has room for."""


def write_comparison(folder: Path, several: Several) -> Path:
    """Write the page of several runs, and its tables; each appears whole or not at all."""
    shown = viewer(several.found)
    tests = several.machines and machine_viewer(several.machines)
    chart, rows = bars(shown)
    charts = [chart] if rows else []
    data = page_data(charts, {DATASET: rows, "colours": colour_rows()}, shown) | {"tables": {}}
    for found, viewed in ((several.found, shown), (several.machines, tests)):
        if found and viewed:
            table = comparison_table(found, viewed.layout).write_csv()
            data |= {viewed.layout.id: viewed.data}
            data["tables"][viewed.layout.id] = table
            write_atomically(folder / f"{viewed.layout.file}.csv", table)
    runs = compared_runs(several)
    text = rendered(
        "page/comparison.html.j2",
        data,
        charts={chart.id: chart for chart in charts},
        viewer=shown,
        runs=runs,
        lines=verdict_lines(runs),
        stages=list(dict.fromkeys(row.curve for row in shown.rows if row.curve)),
        differing=several.differing,
        first_screen=FIRST_SCREEN,
        what_differs=what_differs(several),
        machines=tests,
        machines_told=machines_told(several),
    )
    write_atomically(folder / NAME, text)
    return folder / NAME

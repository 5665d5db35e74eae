"""What the page of several runs shows beside the viewer: each run, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl
from pydantic import Field

from pyscale.analysis.judging import OTHER_WORK
from pyscale.report.comparison import (
    ComparisonContext,
    conclusion,
    method,
    output_remarks,
    remarks,
    words,
)
from pyscale.report.judged import TIMES, Row, judged, named, not_judged, ratio3, reasons
from pyscale.report.viewer.build import SideBySide
from pyscale.report.viewer.model import Column
from pyscale.report.wording import listing
from pyscale.runfacts import Differing
from pyscale_stages.contract import Record

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

    key: str = Field(description="What names the row of the CSV")
    word: str | None = Field(description="None where nothing was compared")
    ratio: float | None = Field(description="New wall time over the base's")
    ratio_low: float | None = Field(description="Lower end of its interval")
    ratio_high: float | None = Field(description="Upper end of its interval")

    @property
    def text(self) -> str:
        """The verdict as people read it: a time is longer or shorter, not worse or better."""
        return "not compared" if self.word is None else words()[self.word]

    @property
    def texts(self) -> dict[str, str]:
        """Ratio and interval as people read them."""
        ends = ("ratio", "ratio_low", "ratio_high")
        return {end: ratio3(getattr(self, end)) for end in ends}


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
    context = several.contexts[place - 1]
    table = several.found.pairs.get((0, place))
    said = tuple(remarks(context))
    if context.nothing_in_common:
        return Judged(refused=f"Not compared: {context.nothing_in_common}.", remarks=said)
    if table is None:
        return Judged(refused=OTHER_INPUT, remarks=said)
    rows = judged(table, several.samples[place - 1] if several.samples else None)
    both = [
        row
        for row in rows
        if row["kind"] == TIMES and (row["verdict"] or row["reason"] == OTHER_WORK)
    ]
    told = _told(context, rows)
    return told.model_copy(
        update={
            "verdicts": {
                (row["name"], row["workers"]): _verdict(row, several.found.columns[place].id)
                for row in both
            },
            "remarks": (*said, *output_remarks(context, rows)),
        }
    )


def _configurations(rows: Sequence[Row], reason: str) -> list[Row]:
    return [row for row in rows if row["reason"] == reason and row["workers"] is not None]


def _told(context: ComparisonContext, rows: Sequence[Row]) -> Judged:
    """Say what follows from rows of every kind."""
    concluded = conclusion(context, rows)
    return Judged(
        summary=(*([concluded] if concluded else []), *not_judged(rows)),
        reasons=tuple(
            f"{named(own)}: {sentence}" if (own := _configurations(rows, reason)) else sentence
            for reason, sentence in reasons(rows, context.at_least).items()
        ),
        method=method(context, rows),
    )


def _verdict(row: dict[str, Any], column: str) -> Verdict:
    key = (column, row["stage"], row["device"], row["workers"], None)
    return Verdict(
        key="|".join("" if value is None else str(value) for value in key),
        word=row["verdict"],
        ratio=row["ratio"],
        ratio_low=row["ratio_low"],
        ratio_high=row["ratio_high"],
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

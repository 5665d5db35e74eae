"""The table of the first screen: a row a stage over N, with numbers tied to the CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.trust import Trust
from pyscale.report.bottomline import BottomLine, Point, StageLine, Total
from pyscale.report.curves import curves
from pyscale.report.page.values import CONFIGURATIONS, Cell, Row
from pyscale.report.results import Results
from pyscale.report.wording import number, ratio
from pyscale_stages.contract import Record

MOST_COUNTS = 5
"""More columns of times would not fit the first screen; all stand under Results."""
EXTREMES = ("min", "max")


class Time(Record):
    """Wall time of a stage at one N."""

    time: Cell
    ends: Cell = Field((), description="Its interval or range")
    is_invalid: bool = False


class StageRow(Record):
    """What the first screen shows of one stage, or of all of them."""

    line: StageLine | None = Field(None, description="None of the sum of all stages")
    name: str
    times: tuple[Time | None, ...] = Field(description="At each N of the table")
    speedup: Cell = Field((), description="Empty where there is none")
    at: str = Field("", description="N of the speedup")
    limit: str = Field("", description="What limits scaling")
    limit_more: str = Field("", description="The same with numbers")
    share: float = Field(0.0, description="Length of the speedup's bar: over the ideal, at most 1")


class Overview(Record):
    """The first screen's table."""

    counts: tuple[int, ...] = Field(description="N of each column of times")
    rows: tuple[StageRow, ...]
    note: str


def overview(found: BottomLine, results: Results) -> Overview:
    """Lay out the rows of a bottom line, whose numbers are those of the configurations."""
    counts = _counts(found.stages)
    of_curves = curves(results.about_workers().configurations)
    rows = [
        _of_stage(line, {row["workers"]: row for row in curve.timed}, counts)
        for line, curve in zip(found.stages, of_curves, strict=True)
    ]
    if found.total is not None:
        rows.append(_of_all(found.total, counts))
    kinds = {one.ends for line in found.stages for one in line.points}
    left_out = {one.workers for line in found.stages for one in line.points} - {*counts}
    notes = (
        "Times: medians of the trials.",
        "Brackets: 95 % intervals." if "interval" in kinds else "",
        f"Ranges: shortest to longest of fewer than {repeats_needed()} trials."
        if "range" in kinds
        else "",
        "Bar: share of the ideal speedup." if any(row.share for row in rows) else "",
        "Other N stand under Results." if left_out else "",
    )
    return Overview(counts=counts, rows=tuple(rows), note=" ".join(filter(None, notes)))


class Same(Record):
    """Whether the largest N gave the output that a picture shows."""

    text: str
    trust: Trust


def same_outputs(results: Results) -> dict[str, Same]:
    """Say by entry whether the largest N gave the output of the baseline."""
    return {
        curve.key["stage"]: found
        for curve in curves(results.about_workers().configurations)
        if (found := _same(curve.timed)) is not None
    }


def _same(timed: Sequence[Row]) -> Same | None:
    if len(timed) < 2:
        return None
    at = f"at N = {timed[-1]['workers']}"
    if timed[-1]["invalid"]:
        return Same(text=f"differs {at}", trust="no")
    if timed[-1]["agreement"] is None:
        return None
    return Same(text=f"{'same' if timed[-1]['identical'] else 'agrees'} {at}", trust="yes")


def _counts(stages: Sequence[StageLine]) -> tuple[int, ...]:
    """Choose N: the least and the largest, those that are advised, and others as there is room."""
    every = sorted({one.workers for line in stages for one in line.points})
    advised = [n for s in stages for n in (s.shown_at, s.best_value, s.fastest) if n in every]
    by_need = dict.fromkeys([*every[:1], *every[-1:], *advised, *every])
    return tuple(sorted(list(by_need)[:MOST_COUNTS]))


def _of_stage(line: StageLine, timed: Mapping[int, Row], counts: Sequence[int]) -> StageRow:
    shown, told = line.shown, line.limit_sentence
    return StageRow(
        line=line,
        name=line.name,
        limit=told[: len(line.limit)],
        limit_more=told[len(line.limit) :].lstrip(" ,:"),
        times=tuple(_time(timed[count]) if count in timed else None for count in counts),
        speedup=()
        if shown is None
        else CONFIGURATIONS.interval_cell(timed[shown.workers], "speedup", ratio),
        **_beside(shown),
    )


def _of_all(total: Total, counts: Sequence[int]) -> StageRow:
    by_count = {one.workers: Time(time=(number(one.wall_s),)) for one in total.points}
    shown = total.shown
    return StageRow(
        name=total.name,
        times=tuple(by_count.get(count) for count in counts),
        speedup=() if shown is None else (ratio(shown.speedup),),
        **_beside(shown),
    )


def _beside(shown: Point | None) -> dict[str, Any]:
    if shown is None:
        return {}
    return {"at": f"at N = {shown.workers}", "share": min(1.0, shown.efficiency or 0.0)}


def _time(row: Row) -> Time:
    ends: Cell = CONFIGURATIONS.interval_cell(row, "wall_s", number)[1:]
    if not ends and row["repeats"] > 1:
        low, high = (CONFIGURATIONS.cell(row, f"wall_s_{end}") for end in EXTREMES)
        ends = (*low, " to ", *high)
    return Time(time=CONFIGURATIONS.cell(row, "wall_s"), ends=ends, is_invalid=row["invalid"])

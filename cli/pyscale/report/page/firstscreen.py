"""The table of the first screen: a row a stage over N, with numbers tied to the CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyscale.analysis.flags import UNCHECKED
from pyscale.analysis.intervals import repeats_needed
from pyscale.report.bottomline import BottomLine, Point, StageLine, Total
from pyscale.report.curves import curves
from pyscale.report.page.values import CONFIGURATIONS, Cell, Row
from pyscale.report.results import Results
from pyscale.wording import number, ratio

MOST_COUNTS = 5
"""More columns of times would not fit the first screen; all stand under Results."""
OF = CONFIGURATIONS


def overview(
    found: BottomLine, results: Results, counts: Sequence[int] | None = None
) -> dict[str, Any]:
    """Lay out the rows of a bottom line, at some N, for a page and for a terminal alike.

    Its numbers are those of the configurations.
    """
    points = [one for line in found.stages for one in line.points]
    counts = _counts(found.stages) if counts is None else counts
    rows = []
    for line, curve in zip(found.stages, curves(results.configurations), strict=True):
        timed = {row["workers"]: row for row in curve.timed}
        times = {count: _time(row) for count, row in timed.items()}
        shown, told, head = line.shown, line.limit_sentence, len(line.limit)
        speedup = OF.interval_cell(timed[shown.workers], "speedup", ratio) if shown else ()
        # The sentence begins with the limit, which stands apart from the rest.
        limit = {"limit": told[:head], "limit_more": told[head:].lstrip(" ,:")}
        rows.append(_row(line.name, times, counts, shown, speedup) | {"line": line} | limit)
    rows += [] if found.total is None else [_whole(found.total, counts)]
    kinds = {time["kind"] for row in rows for time in row["times"] if time}
    notes = (
        "Times: medians of the trials.",
        "Brackets: 95 % intervals." if "interval" in kinds else "",
        f"Ranges: shortest to longest of fewer than {repeats_needed()} trials."
        if "range" in kinds
        else "",
        "Bar: share of the ideal speedup." if any(row["share"] for row in rows) else "",
        "Other N stand under Results." if {one.workers for one in points} - {*counts} else "",
    )
    return {"counts": counts, "rows": rows, "note": " ".join(filter(None, notes))}


def _whole(total: Total, counts: Sequence[int]) -> dict[str, Any]:
    """Row of all stages together, at the baseline and each at the N that is requested."""
    base = {"time": (number(total.wall_s),), "ends": (), "kind": "", "is_invalid": False}
    mix = total.requested
    return {
        "name": total.name,
        "mix": "as requested" if mix else "",
        "times": [base if count == total.baseline_workers else None for count in counts],
        "speedup": (ratio(mix.speedup),) if mix else (),
        "at": f"{number(mix.wall_s)} s" if mix else "",
        "share": 0.0,
        "line": None,
    }


def same_outputs(results: Results) -> dict[str, dict[str, str]]:
    """Say by entry whether the largest N gave the output of the baseline that a picture shows."""
    found = {}
    for curve in curves(results.configurations):
        if len(curve.timed) < 2:
            continue
        last = curve.timed[-1]
        at, entry = f"at N = {last['workers']}", curve.key["stage"]
        if last["invalid"]:
            found[entry] = {"text": f"differs {at}", "trust": "no"}
        elif not UNCHECKED.isdisjoint(last["flags"]):
            found[entry] = {"text": f"check failed {at}", "trust": "no"}
        elif last["agreement"] is not None:
            same = "same" if last["identical"] else "agrees"
            found[entry] = {"text": f"{same} {at}", "trust": "yes"}
    return found


def _counts(stages: Sequence[StageLine]) -> tuple[int, ...]:
    """Choose N: the least and the largest, those that are advised, and others as there is room."""
    every = sorted({one.workers for line in stages for one in line.points})
    advised = [n for s in stages for n in (s.shown_at, s.chosen, s.fastest) if n in every]
    by_need = dict.fromkeys([*every[:1], *every[-1:], *advised, *every])
    return tuple(sorted(list(by_need)[:MOST_COUNTS]))


def _row(
    name: str,
    times: dict[int, dict[str, Any]],
    counts: Sequence[int],
    shown: Point | None,
    speedup: Cell,
) -> dict[str, Any]:
    return {
        "name": name,
        "times": [times.get(count) for count in counts],
        "speedup": speedup,
        "at": f"at N = {shown.workers}" if shown else "",
        # The length of the bar: the whole of it is the ideal.
        "share": min(1.0, shown.efficiency or 0.0) if shown else 0.0,
    }


def _time(row: Row) -> dict[str, Any]:
    time, *ends = OF.interval_cell(row, "wall_s", number)
    kind = "interval" if ends else ""
    if not ends and row["repeats"] > 1:
        low, high = (OF.cell(row, f"wall_s_{end}") for end in ("min", "max"))
        ends, kind = [*low, " to ", *high], "range"
    return {"time": (time,), "ends": ends, "kind": kind, "is_invalid": row["invalid"]}

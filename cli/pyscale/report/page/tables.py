"""The tables over N, that of the first screen too, each number tied to the CSV that holds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.spending import COSTS
from pyscale.report import advice
from pyscale.report.bottomline import NAMES, BottomLine, StageLine, Total
from pyscale.report.context import Work
from pyscale.report.curves import Curve
from pyscale.report.dictionary import entry
from pyscale.report.page.values import (
    CONFIGURATIONS,
    LOSSES,
    MEASURES,
    Cell,
    Column,
    Columns,
    Row,
    Table,
    Value,
    Writer,
    laid_out,
    numbers,
    words,
)
from pyscale.report.palette import PARTS
from pyscale.report.results import Results
from pyscale.report.sentences import distinct
from pyscale.wording import (
    ABSENT,
    INVALID,
    growth,
    number,
    percent,
    phase,
    quality,
    ratio,
    seconds,
)

OF = CONFIGURATIONS
MOST_COUNTS = 5
"""More columns of times would not fit the first screen; all stand under Results."""
UNKNOWN = Work(data=ABSENT, how=ABSENT)


def results(found: Sequence[Curve]) -> Table | None:
    """Wall time, speedup and efficiency of every configuration."""
    columns: Columns = [
        *OF.columns("workers", "repeats", "wall_s"),
        OF.column("speedup", _same_work(OF.interval("speedup", ratio), INVALID)),
        OF.column("efficiency", _same_work(OF.interval("efficiency", ratio))),
        *OF.columns("load_balance"),
        OF.column("computation_scaling", _same_work(OF.plain("computation_scaling", ratio))),
        *OF.columns("useful_share", "worker_seconds", "flags", "warnings"),
    ]
    return laid_out("Every configuration", _every(found), columns)


def choices(found: Sequence[Curve], results: Results) -> Table | None:
    """The N to request for every objective."""
    rows = []
    for curve in found:
        at = {row["workers"]: row for row in curve.rows} | {None: dict.fromkeys(curve.rows[0])}
        own = (choice for choice in results.choices if curve.owns(choice))
        rows += [(curve.name, at[choice.workers] | {"choice": choice}) for choice in own]
    columns: Columns = [
        words("Objective", lambda row: NAMES[row["choice"].objective]),
        *OF.columns("workers", "wall_s", "speedup", "efficiency", "worker_seconds"),
        words("Confidence", lambda row: advice.confidence(row["choice"])),
    ]
    return laid_out("What each asks for", rows, columns)


def losses(found: Sequence[Curve], results: Results) -> Table | None:
    """Worker-seconds by part; each row sums to N x wall time."""
    rows = [*_with_parts(found, results)]
    known = {part for _, row in rows for part in _lasting(row)}
    columns: Columns = [
        OF.column("workers", _workers),
        OF.column("worker_seconds", head="N x wall time"),
        *(numbers(phase(part), _part(part)) for part in PARTS if part in known),
    ]
    caption = "Worker-seconds by phase, in brackets the growth over the baseline"
    return laid_out(caption, rows, columns) if known else None


def shares(found: Sequence[Curve], results: Results) -> Table | None:
    """Parts of the worker-seconds, the largest first, as a terminal has room for them."""

    def largest(row: Row) -> str:
        parts = _lasting(row)
        # What rounds to nothing is left out.
        told = {part: percent(parts[part] / row["worker_seconds"]) for part in parts}
        ordered = sorted(parts, key=lambda part: parts[part], reverse=True)
        return ", ".join(f"{phase(part)} {told[part]}" for part in ordered if told[part] != "0 %")

    columns: Columns = [
        OF.column("workers", _workers),
        OF.column("worker_seconds", head="N x wall time (s)"),
        words("Phases", largest),
    ]
    return laid_out("Shares of the worker-seconds", _with_parts(found, results), columns)


def _with_parts(found: Sequence[Curve], results: Results) -> Iterator[tuple[str, Row]]:
    for curve in found:
        held: dict[int, dict[str, Row]] = {}
        for part in curve.select(results.losses).to_dicts():
            held.setdefault(part["workers"], {})[part["part"]] = part
        for row in curve.timed:
            if row["workers"] in held:
                yield curve.name, row | {"parts": held[row["workers"]]}


def _lasting(row: Row) -> dict[str, float]:
    """Worker-seconds of the parts that took any time."""
    parts = {name: part["worker_seconds"] for name, part in row["parts"].items()}
    return {name: value for name, value in parts.items() if seconds(value) != "0"}


def waiting(found: Sequence[Curve]) -> Table | None:
    """What happened before, between and beside the tasks."""
    columns = OF.columns(
        *("workers", "windows", "nodes", "queue_s", "queue_worst_s", "start_stagger_s"),
        *("overlap", "gap_s", "mean_task_s", "sd_task_s"),
    )
    # There are gaps where workers take windows in turn.
    rows = [
        (name, row if (row["windows"] or 0) > row["workers"] else row | {"gap_s": None})
        for name, row in _timed(found, ("queue_s", "start_stagger_s", "sd_task_s"))
    ]
    return laid_out("Waiting, overlap and times of tasks", rows, columns)


def memory(found: Sequence[Curve]) -> Table | None:
    """What tasks used of memory and cores, and asked for."""
    names = ("peak_rss_bytes", "requested_memory_bytes", "cores_used", "requested_cpus")
    columns = OF.columns("workers", *names)
    rows = _timed(found, ("peak_rss_bytes", "cores_used", "requested_cpus"))
    return laid_out("Memory and cores of a task", rows, columns)


def cost(found: Sequence[Curve]) -> Table | None:
    """What each configuration cost, as far as that is known."""
    known = [
        column
        for cost in COSTS
        for column in (cost, f"{cost}_per_work")
        if any(row.get(column) for curve in found for row in curve.timed)
    ]
    currencies = (row.get("currency") for curve in found for row in curve.timed)
    currency = next(filter(None, currencies), "")
    columns = [
        OF.column(name, head=entry(OF.table, name).head.format(currency=currency))
        for name in ("workers", *known)
    ]
    return laid_out("What it cost", _timed(found, known), columns) if known else None


def agreement(found: Sequence[Curve]) -> Table | None:
    """How far each output is the baseline's; None where none was compared."""
    # At one N an output agrees with itself alone.
    several = [curve for curve in found if len(curve.rows) > 1]
    rows = list(_every(several))
    if all(row["agreement"] is None for _, row in rows):
        return None

    def measure(row: Row) -> Cell:
        # Once for each curve.
        is_base = row["workers"] == row["baseline_workers"]
        return ((row["agreement_measure"] or ABSENT) if is_base else "",)

    columns: Columns = [
        *OF.columns("workers", "agreement", "agreement_tolerance", "identical"),
        OF.column("agreement_measure", measure),
    ]
    return laid_out("Agreement", rows, columns)


def cache(found: Sequence[Curve]) -> Table | None:
    """In what state the inputs' page cache was, and at which N."""
    at: dict[tuple[str, str], list[Value | str]] = {}
    for name, row in _every(found):
        if row["cache_state"] is not None:
            counts = at.setdefault((name, row["cache_state"]), [])
            counts += [*([", "] if counts else []), *OF.cell(row, "workers", str)]
    columns: Columns = [
        words("State of the inputs before each trial", lambda row: row["state"]),
        (Column(name="at N =", is_text=True), lambda row: row["counts"]),
    ]
    rows = [
        (name, {"state": state, "counts": tuple(at[name, state])}) for name, state in sorted(at)
    ]
    return laid_out("Page cache", rows, columns)


def right(found: Sequence[Curve], works: Mapping[str, Work]) -> Table | None:
    """Quality of each configuration whose truth is known; None where there is none.

    Worker counts that give the same as the one before them are left out.
    """
    columns: Columns = [
        *OF.columns("workers"),
        words("Dataset", lambda row: row["work"].data),
        words("Algorithm", lambda row: row["work"].how),
        words(
            "Quality against the truth", lambda row: quality(row["quality"]), "Medians over trials"
        ),
        words("Required", lambda row: row["work"].asked, "By the suite"),
        numbers("Wall time (s)", OF.plain("wall_s"), "Median over trials"),
    ]
    rows = (
        (curve.name, row | {"work": works.get(row["stage"], UNKNOWN)})
        for curve in found
        for row in distinct(curve)
    )
    return laid_out("Quality", rows, columns)


def measured(found: pl.DataFrame | None) -> Table | None:
    """Lay every number out over N; None where none was measured."""
    if found is None:
        return None
    names = ("name", "workers", "repeats", "value", "unit", "over_baseline", "better", "means")
    rows = [(row["stage"], row) for row in found.iter_rows(named=True)]
    return laid_out("Numbers that stages measure", rows, MEASURES.columns(*names))


def _every(found: Sequence[Curve]) -> Iterator[tuple[str, Row]]:
    return ((curve.name, row) for curve in found for row in curve.rows)


def _timed(found: Sequence[Curve], knows: Sequence[str]) -> Iterator[tuple[str, Row]]:
    """Timed configurations of which any of these columns is known."""
    return (
        (curve.name, row)
        for curve in found
        for row in curve.timed
        if any(row[column] is not None for column in knows)
    )


def _same_work(write: Writer, otherwise: str = ABSENT) -> Writer:
    """Write what compares a configuration with the baseline only where its work is the same."""
    return lambda row: (otherwise,) if row["invalid"] else write(row)


def _workers(row: Row) -> Cell:
    return (*OF.cell(row, "workers", str), f" ({INVALID})" if row["invalid"] else "")


def _part(part: str) -> Writer:
    def write(row: Row) -> Cell:
        held = row["parts"].get(part)
        if held is None:
            return (ABSENT,)
        found = LOSSES.cell(held, "worker_seconds", seconds)
        if held["workers"] == held["baseline_workers"]:
            return found
        return (*found, " (", *LOSSES.cell(held, "growth_s", growth), ")")

    return write


def overview(found: BottomLine, counts: Sequence[int] | None = None) -> dict[str, Any]:
    """Lay out the rows of a bottom line, at some N, for a page and for a terminal alike."""
    points = [one for line in found.stages for one in line.points]
    counts = _counts(found.stages) if counts is None else counts
    rows = [_row(line, counts) for line in found.stages]
    rows += [] if found.total is None else [_whole(found.total, counts)]
    kinds = {time["kind"] for row in rows for time in row["times"] if time}
    notes = (
        "Times: medians of the trials.",
        "Brackets: 95 % intervals." if "interval" in kinds else "",
        f"Ranges: shortest to longest of fewer than {repeats_needed()} trials."
        if "range" in kinds
        else "",
        "Bar: share of the ideal speedup." if any(row["share"] for row in rows) else "",
        "Other N stand under Results." if {one["workers"] for one in points} - {*counts} else "",
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


def _counts(stages: Sequence[StageLine]) -> tuple[int, ...]:
    """Choose N: the least and the largest, those that are advised, and others as there is room."""
    every = sorted({one["workers"] for line in stages for one in line.points})
    advised = [n for s in stages for n in (s.shown_at, s.chosen, s.fastest) if n in every]
    by_need = dict.fromkeys([*every[:1], *every[-1:], *advised, *every])
    return tuple(sorted(list(by_need)[:MOST_COUNTS]))


def _row(line: StageLine, counts: Sequence[int]) -> dict[str, Any]:
    times = {row["workers"]: _wall_time(row) for row in line.points}
    shown, told, head = line.shown, line.limit_sentence, len(line.limit)
    return {
        "name": line.name,
        "times": [times.get(count) for count in counts],
        "speedup": OF.interval_cell(shown, "speedup", ratio) if shown else (),
        "at": f"at N = {shown['workers']}" if shown else "",
        # The length of the bar: the whole of it is the ideal.
        "share": min(1.0, shown["efficiency"] or 0.0) if shown else 0.0,
        "line": line,
        # The sentence begins with the limit, which stands apart from the rest.
        "limit": told[:head],
        "limit_more": told[head:].lstrip(" ,:"),
    }


def _wall_time(row: Row) -> dict[str, Any]:
    time, *ends = OF.interval_cell(row, "wall_s", number)
    kind = "interval" if ends else ""
    if not ends and row["repeats"] > 1:
        low, high = (OF.cell(row, f"wall_s_{end}") for end in ("min", "max"))
        ends, kind = [*low, " to ", *high], "range"
    return {"time": (time,), "ends": ends, "kind": kind, "is_invalid": row["invalid"]}

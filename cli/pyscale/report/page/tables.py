"""The tables over N, each number tied to the CSV that holds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyscale.analysis.spending import COSTS
from pyscale.report import advice
from pyscale.report.bottomline import NAMES
from pyscale.report.curves import Curve
from pyscale.report.dictionary import entry
from pyscale.report.page.values import (
    CONFIGURATIONS,
    LOSSES,
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
from pyscale.wording import ABSENT, INVALID, growth, phase, ratio, seconds

OF = CONFIGURATIONS


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
    rows, known = [], set()
    for curve in found:
        held: dict[int, dict[str, Row]] = {}
        for part in curve.select(results.losses).to_dicts():
            held.setdefault(part["workers"], {})[part["part"]] = part
            if seconds(part["worker_seconds"]) != "0":
                known.add(part["part"])
        rows += [
            (curve.name, row | {"parts": held[row["workers"]]})
            for row in curve.timed
            if row["workers"] in held
        ]
    columns: Columns = [
        OF.column("workers", _workers),
        OF.column("worker_seconds", head="N x wall time"),
        *(numbers(phase(part), _part(part)) for part in PARTS if part in known),
    ]
    caption = "Worker-seconds by phase, in brackets the growth over the baseline"
    return laid_out(caption, rows, columns) if known else None


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

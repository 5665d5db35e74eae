"""The tables over N, each number tied to the CSV that holds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyscale.report import advice, costs
from pyscale.report.curves import Curve
from pyscale.report.page.table import Column, Columns, Table, laid_out, numbers, words, yes_no
from pyscale.report.page.values import CONFIGURATIONS, LOSSES, Cell, Row, Value, Writer
from pyscale.report.palette import PARTS
from pyscale.report.results import Results
from pyscale.report.wording import (
    ABSENT,
    INVALID,
    coarse,
    gib,
    growth,
    percent,
    phase,
    ratio,
    score,
    seconds,
)

OF = CONFIGURATIONS
WORKERS = numbers("N", OF.plain("workers", str), "Workers that run at once")


def results(found: Sequence[Curve]) -> Table | None:
    """Wall time, speedup and efficiency of every configuration."""
    columns: Columns = [
        WORKERS,
        numbers("Trials", OF.plain("repeats", str), "Timed trials"),
        numbers("Wall time (s)", OF.interval("wall_s"), "Median over trials; 95 % interval"),
        numbers(
            "Speedup",
            _same_work(OF.interval("speedup", ratio), INVALID),
            "Over the baseline; 95 % interval",
        ),
        numbers(
            "Efficiency",
            _same_work(OF.interval("efficiency", ratio)),
            "Speedup x N0/N; 95 % interval",
        ),
        numbers(
            "Load balance",
            OF.plain("load_balance", ratio),
            "Mean busy time of the workers over the wall time",
        ),
        numbers(
            "Computation scaling",
            _same_work(OF.plain("computation_scaling", ratio)),
            "Useful compute of the baseline over that at N",
        ),
        numbers("Useful share", OF.plain("useful_share", ratio), "Useful compute over busy time"),
        numbers("Worker-seconds", OF.plain("worker_seconds"), "N x wall time"),
        words("Flags", lambda row: ", ".join(row["flags"]), "Doubts, explained below"),
        words(
            "Warnings",
            lambda row: ", ".join(row["warnings"]),
            "Of the stage; explained at the top",
        ),
    ]
    return laid_out("Every configuration", _every(found), columns)


def choices(found: Sequence[Curve], results: Results) -> Table | None:
    """The N to request for every objective."""
    rows = []
    for curve in found:
        at = {row["workers"]: row for row in curve.rows}
        nothing = dict.fromkeys(curve.rows[0])
        rows += [
            (curve.name, at.get(choice.workers, nothing) | {"choice": choice})
            for choice in results.choices
            if curve.owns(choice)
        ]
    columns: Columns = [
        words("Objective", lambda row: advice.NAMES[row["choice"].objective]),
        WORKERS,
        numbers("Wall time (s)", OF.interval("wall_s")),
        numbers("Speedup", OF.interval("speedup", ratio)),
        numbers("Efficiency", OF.interval("efficiency", ratio)),
        numbers("Worker-seconds", OF.plain("worker_seconds")),
        words("Confidence", lambda row: advice.confidence(row["choice"])),
    ]
    return laid_out("The N to request", rows, columns)


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
        (WORKERS[0], _workers),
        numbers("N x wall time", OF.plain("worker_seconds"), "Worker-seconds in all"),
        *(numbers(phase(part), _part(part)) for part in PARTS if part in known),
    ]
    caption = "Worker-seconds by phase, in brackets the growth over the baseline"
    return laid_out(caption, rows, columns) if known else None


def waiting(found: Sequence[Curve]) -> Table | None:
    """What happened before, between and beside the tasks."""
    columns: Columns = [
        WORKERS,
        numbers(
            "Windows", OF.plain("windows", str), "Parts of the movie, each the task of one worker"
        ),
        numbers("Nodes", OF.plain("nodes", str)),
        numbers(
            "Queue wait (s)",
            OF.plain("queue_s", coarse),
            "From submission until the launcher of a worker's first window began; median over "
            "workers and trials",
        ),
        numbers("Longest wait (s)", OF.plain("queue_worst_s", coarse), "The longest of all these"),
        numbers(
            "Start stagger (s)",
            OF.of_several("start_stagger_s", coarse),
            "Between the starts of the first worker and the last",
        ),
        numbers(
            "Overlap",
            OF.of_several("overlap", percent),
            "Share of the slowest worker's time in which all workers ran",
        ),
        numbers(
            "Gaps (worker-s)",
            _gaps,
            "Between the windows of one worker, summed over workers",
        ),
    ]
    rows = _timed(found, ("queue_s", "start_stagger_s"))
    return laid_out("Waiting and overlap", rows, columns)


def memory(found: Sequence[Curve]) -> Table | None:
    """What tasks used of memory and cores, and asked for."""
    columns: Columns = [
        WORKERS,
        numbers("Memory (GiB)", OF.plain("peak_rss_bytes", gib), "The most that a task used"),
        numbers("Memory asked for (GiB)", OF.plain("requested_memory_bytes", gib), "By a task"),
        numbers(
            "Cores",
            OF.plain("cores_used", coarse),
            "Processor time of a task over its wall time",
        ),
        numbers("Cores asked for", OF.plain("requested_cpus", str), "By a task"),
    ]
    rows = _timed(found, ("peak_rss_bytes", "cores_used", "requested_cpus"))
    return laid_out("Memory and cores of a task", rows, columns)


def cost(found: Sequence[Curve]) -> Table | None:
    """What each configuration cost, as far as that is known."""
    known = costs.known(found)
    columns: Columns = [
        WORKERS,
        *(numbers(name, OF.plain(column)) for column, name in known.items()),
    ]
    return laid_out("What it cost", _timed(found, tuple(known)), columns) if known else None


def agreement(found: Sequence[Curve]) -> Table | None:
    """How far each output is the baseline's; None where none was compared."""
    rows = list(_every(found))
    if all(row["agreement"] is None for _, row in rows):
        return None
    columns: Columns = [
        WORKERS,
        numbers(
            "Agreement",
            OF.plain("agreement", score),
            "With the baseline's output, in the lowest trial",
        ),
        numbers(
            "Least that counts",
            OF.plain("agreement_tolerance", "{:g}".format),
            "As the same output",
        ),
        words("Same bytes", lambda row: yes_no(row["identical"]), "In all trials"),
        (Column(name="What agreement is", is_text=True), _measure),
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


def _gaps(row: Row) -> Cell:
    in_turn = (row["windows"] or 0) > row["workers"]
    return OF.cell(row, "gap_s", coarse) if in_turn else (ABSENT,)


def _measure(row: Row) -> Cell:
    """What agreement is measured by, once for each curve."""
    is_base = row["workers"] == row["baseline_workers"]
    return ((row["agreement_measure"] or ABSENT) if is_base else "",)


def _part(part: str) -> Writer:
    """Write the worker-seconds of a part, and their growth beyond the baseline."""

    def write(row: Row) -> Cell:
        held = row["parts"].get(part)
        if held is None:
            return (ABSENT,)
        found = LOSSES.cell(held, "worker_seconds", seconds)
        if held["workers"] == held["baseline_workers"]:
            return found
        return (*found, " (", *LOSSES.cell(held, "growth_s", growth), ")")

    return write

"""The tables of the page, each number tied to the CSV that holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pyscale.analysis.advice import Choice
from pyscale.report import advice, costs
from pyscale.report.curves import Curve
from pyscale.report.page.table import Column, Group, Line, Row, Table, Writer, laid_out
from pyscale.report.page.values import Cell, Value, cell, part_value, with_interval
from pyscale.report.palette import PARTS
from pyscale.report.results import Results
from pyscale.report.wording import (
    ABSENT,
    INVALID,
    coarse,
    gib,
    growth,
    number,
    percent,
    phase,
    ratio,
    score,
    seconds,
)

WORKERS = Column(name="N", means="Workers that run at once")


def results(found: Sequence[Curve]) -> Table | None:
    """Wall time, speedup and efficiency of every configuration."""
    columns = [
        (WORKERS, _workers),
        (Column(name="Trials", means="Timed trials"), _plain("repeats", str)),
        (
            Column(name="Wall time (s)", means="Median over trials; 95 % interval"),
            lambda row: with_interval(row, "wall_s", number),
        ),
        (Column(name="Speedup", means="Over the baseline; 95 % interval"), _speedup),
        (
            Column(name="Efficiency", means="Speedup x N0/N; 95 % interval"),
            lambda row: (ABSENT,) if row["invalid"] else with_interval(row, "efficiency", ratio),
        ),
        (
            Column(name="Load balance", means="Mean busy time of the workers over the wall time"),
            _factor("load_balance"),
        ),
        (
            Column(
                name="Computation scaling", means="Useful compute of the baseline over that at N"
            ),
            _factor("computation_scaling"),
        ),
        (
            Column(name="Useful share", means="Useful compute over busy time"),
            _factor("useful_share"),
        ),
        (Column(name="Worker-seconds", means="N x wall time"), _plain("worker_seconds", number)),
        (
            Column(name="Flags", means="Doubts, explained below", is_text=True),
            lambda row: (", ".join(row["flags"]) or ABSENT,),
        ),
        (
            Column(name="Warnings", means="Of the stage; explained at the top", is_text=True),
            lambda row: (", ".join(row["warnings"]) or ABSENT,),
        ),
    ]
    return laid_out("Every configuration", found, columns, rows=lambda curve: curve.rows)


def choices(found: Sequence[Curve], results: Results) -> Table | None:
    """The N to request for every objective."""
    groups = []
    for curve in found:
        rows = {row["workers"]: row for row in curve.rows}
        lines = [
            Line(cells=tuple(_choice(choice, rows.get(choice.workers or 0))))
            for choice in results.choices
            if curve.owns(choice)
        ]
        groups.append(Group(name=curve.name, lines=tuple(lines)))
    columns = (
        Column(name="Objective", is_text=True),
        WORKERS,
        Column(name="Wall time (s)"),
        Column(name="Speedup"),
        Column(name="Efficiency"),
        Column(name="Worker-seconds"),
        Column(name="Confidence", is_text=True),
    )
    shown = tuple(group for group in groups if group.lines)
    return Table(caption="The N to request", columns=columns, groups=shown) if shown else None


def losses(found: Sequence[Curve], results: Results) -> Table | None:
    """Worker-seconds by part; each row sums to N x wall time."""
    known = {
        part
        for (part,), rows in results.losses.group_by("part")
        if any(seconds(held) != "0" for held in rows["worker_seconds"])
    }
    parts = [part for part in PARTS if part in known]
    groups = []
    for curve in found:
        held = {
            (row["workers"], row["part"]): row for row in curve.select(results.losses).to_dicts()
        }
        lines = [
            Line(
                cells=(
                    _workers(row),
                    cell(row, "worker_seconds", number),
                    *(_held(held.get((row["workers"], part))) for part in parts),
                ),
                is_invalid=row["invalid"],
            )
            for row in curve.timed
            if any(workers == row["workers"] for workers, _ in held)
        ]
        groups.append(Group(name=curve.name, lines=tuple(lines)))
    columns = (
        WORKERS,
        Column(name="N x wall time", means="Worker-seconds in all"),
        *(Column(name=phase(part)) for part in parts),
    )
    shown = tuple(group for group in groups if group.lines)
    caption = "Worker-seconds by phase, in brackets the growth over the baseline"
    return Table(caption=caption, columns=columns, groups=shown) if shown and parts else None


def waiting(found: Sequence[Curve]) -> Table | None:
    """What happened before, between and beside the tasks."""
    columns = [
        (WORKERS, _workers),
        (
            Column(name="Windows", means="Parts of the movie, each the task of one worker"),
            _plain("windows", _whole),
        ),
        (Column(name="Nodes"), _plain("nodes", _whole)),
        (
            Column(
                name="Queue wait (s)",
                means="From submission until the launcher of a worker's first window began; "
                "median over workers and trials",
            ),
            _plain("queue_s", coarse),
        ),
        (
            Column(name="Longest wait (s)", means="The longest of all these"),
            _plain("queue_worst_s", coarse),
        ),
        (
            Column(
                name="Start stagger (s)",
                means="Between the starts of the first worker and the last",
            ),
            _of_several("start_stagger_s", coarse),
        ),
        (
            Column(
                name="Overlap", means="Share of the slowest worker's time in which all workers ran"
            ),
            _of_several("overlap", percent),
        ),
        (
            Column(
                name="Gaps (worker-s)",
                means="Between the windows of one worker, summed over workers",
            ),
            _gaps,
        ),
    ]
    return laid_out("Waiting and overlap", found, columns, knows=("queue_s", "start_stagger_s"))


def memory(found: Sequence[Curve]) -> Table | None:
    """What tasks used of memory and cores, and asked for."""
    columns = [
        (WORKERS, _workers),
        (
            Column(name="Memory (GiB)", means="The most that a task used"),
            _plain("peak_rss_bytes", gib),
        ),
        (
            Column(name="Memory asked for (GiB)", means="By a task"),
            _plain("requested_memory_bytes", gib),
        ),
        (
            Column(name="Cores", means="Processor time of a task over its wall time"),
            _plain("cores_used", coarse),
        ),
        (Column(name="Cores asked for", means="By a task"), _plain("requested_cpus", _whole)),
    ]
    knows = ("peak_rss_bytes", "cores_used", "requested_cpus")
    return laid_out("Memory and cores of a task", found, columns, knows=knows)


def cost(found: Sequence[Curve]) -> Table | None:
    """What each configuration cost, as far as that is known."""
    names, known = costs.columns(found)[2:], costs.known(found)
    columns = [
        (WORKERS, _workers),
        *(
            (Column(name=name), _plain(column, number))
            for name, column in zip(names, known, strict=True)
        ),
    ]
    return laid_out("What it cost", found, columns, knows=known) if known else None


def agreement(found: Sequence[Curve]) -> Table | None:
    """How far each output is the baseline's; None where none was compared."""
    rows = [row for curve in found for row in curve.rows]
    if all(row["agreement"] is None for row in rows):
        return None
    columns = [
        (WORKERS, _workers),
        (
            Column(name="Agreement", means="With the baseline's output, in the lowest trial"),
            _plain("agreement", score),
        ),
        (
            Column(name="Least that counts", means="As the same output"),
            _plain("agreement_tolerance", lambda least: ABSENT if least is None else f"{least:g}"),
        ),
        (
            Column(name="Same bytes", means="In all trials", is_text=True),
            lambda row: ({True: "yes", False: "no", None: ABSENT}[row["identical"]],),
        ),
        (Column(name="What agreement is", is_text=True), _measure),
    ]
    return laid_out("Agreement", found, columns, rows=lambda curve: curve.rows)


def cache(found: Sequence[Curve]) -> Table | None:
    """In what state the inputs' page cache was, and at which N."""
    groups = []
    for curve in found:
        at: dict[str, list[Value | str]] = {}
        for row in curve.rows:
            if row["cache_state"] is not None:
                counts = at.setdefault(row["cache_state"], [])
                counts += [*([", "] if counts else []), *_workers(row)]
        lines = tuple(Line(cells=((state,), tuple(counts))) for state, counts in sorted(at.items()))
        if lines:
            groups.append(Group(name=curve.name, lines=lines))
    columns = (
        Column(name="State of the inputs before each trial", is_text=True),
        Column(name="at N =", is_text=True),
    )
    return Table(caption="Page cache", columns=columns, groups=tuple(groups)) if groups else None


def _workers(row: Row) -> Cell:
    return cell(row, "workers", str)


def _whole(count: int | None) -> str:
    return ABSENT if count is None else str(count)


def _speedup(row: Row) -> Cell:
    return (INVALID,) if row["invalid"] else with_interval(row, "speedup", ratio)


def _plain(column: str, written: Callable[[Any], str]) -> Writer:
    return lambda row: cell(row, column, written)


def _factor(column: str) -> Writer:
    compares = column == "computation_scaling"
    return lambda row: (ABSENT,) if row["invalid"] and compares else cell(row, column, ratio)


def _of_several(column: str, written: Callable[[Any], str]) -> Writer:
    return lambda row: (ABSENT,) if row["workers"] == 1 else cell(row, column, written)


def _gaps(row: Row) -> Cell:
    in_turn = (row["windows"] or 0) > row["workers"]
    return cell(row, "gap_s", coarse) if in_turn else (ABSENT,)


def _measure(row: Row) -> Cell:
    """What agreement is measured by, once for each curve."""
    is_base = row["workers"] == row["baseline_workers"]
    return ((row["agreement_measure"] or ABSENT) if is_base else "",)


def _choice(choice: Choice, row: Row | None) -> Iterable[Cell]:
    yield (advice.NAMES[choice.objective],)
    if choice.workers is None or row is None:
        yield from [(ABSENT,)] * 6
        return
    yield _workers(row)
    yield with_interval(row, "wall_s", number)
    yield with_interval(row, "speedup", ratio)
    yield with_interval(row, "efficiency", ratio)
    yield cell(row, "worker_seconds", number)
    yield (advice.cells(choice)[-1],)


def _held(row: Row | None) -> Cell:
    if row is None:
        return (ABSENT,)
    held = part_value(row, "worker_seconds", seconds(row["worker_seconds"]))
    if row["workers"] == row["baseline_workers"]:
        return (held,)
    return (held, " (", part_value(row, "growth_s", growth(row["growth_s"])), ")")

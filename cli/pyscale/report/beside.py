"""What stands beside the wall time: waiting, overlap, and what tasks asked for and used."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from pyscale.report.curves import Curve
from pyscale.report.wording import ABSENT, coarse, gib, number, of_requested, percent

Row = dict[str, Any]

COLUMNS = (
    *("Stage", "N", "Windows", "Nodes", "Queue wait (s)", "Longest wait (s)", "Start stagger (s)"),
    *("Overlap", "Gaps (worker-s)", "Memory (GiB)", "Cores"),
)
CORE_HOURS = "Core-hours"


def columns(found: Sequence[Curve]) -> tuple[str, ...]:
    """Headers of the table; costs are among them where any is known."""
    return (*COLUMNS, CORE_HOURS) if _has_costs(found) else COLUMNS


def rows(found: Sequence[Curve]) -> list[list[str]]:
    """Cells of every timed configuration that says more than its wall time."""
    has_costs = _has_costs(found)
    return [
        [curve.name, *cells(row), *([number(row["core_hours"])] if has_costs else [])]
        for curve in found
        for row in curve.timed
        if row["queue_s"] is not None
    ]


def cells(row: Row) -> list[str]:
    """Cells of one configuration, after its stage's name."""
    alone = row["workers"] == 1
    return [
        str(row["workers"]),
        str(row["windows"]),
        str(row["nodes"]),
        coarse(row["queue_s"]),
        coarse(row["queue_worst_s"]),
        ABSENT if alone else coarse(row["start_stagger_s"]),
        ABSENT if alone else percent(row["overlap"]),
        coarse(row["gap_s"]) if row["windows"] > row["workers"] else ABSENT,
        of_requested(gib(row["peak_rss_bytes"]), gib(row["requested_memory_bytes"])),
        of_requested(coarse(row["cores_used"]), str(row["requested_cpus"] or ABSENT)),
    ]


def too_much(found: Sequence[Curve]) -> Iterator[str]:
    """Say what the tasks of each stage asked for and did not use, and what is enough.

    A request is one for all N, so the worker count that used most decides.
    """
    for curve in found:
        parts = [part for part in (_memory(curve.timed), _cores(curve.timed)) if part]
        if parts:
            yield f"{curve.name}: {'; '.join(parts)}."


def _has_costs(found: Sequence[Curve]) -> bool:
    return any(row.get("core_hours") is not None for curve in found for row in curve.timed)


def _memory(timed: Sequence[Row]) -> str | None:
    asked = [row for row in timed if row["memory_to_request_bytes"] is not None]
    enough = _most(asked, "memory_to_request_bytes")
    requested = _most(asked, "requested_memory_bytes")
    if enough >= requested:
        return None
    return (
        f"a task asked for {gib(requested)} GiB of memory and used at most "
        f"{gib(_most(asked, 'peak_rss_bytes'))}, so that {gib(enough)} GiB (1.2 times that, in "
        "whole GiB) would do: `memory_gib` in the site's file"
    )


def _cores(timed: Sequence[Row]) -> str | None:
    asked = [row for row in timed if row["requested_cpus"] is not None]
    used, requested = _most(asked, "cores_used"), _most(asked, "requested_cpus")
    if math.ceil(used) >= requested:
        return None
    return (
        f"a task asked for {requested} cores and kept {coarse(used)} busy on average: `cpus` in "
        "the site's file, or `--cpus-per-worker`"
    )


def _most(rows: Sequence[Row], column: str) -> Any:
    return max((row[column] for row in rows), default=0)

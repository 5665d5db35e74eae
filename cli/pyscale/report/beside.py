"""Waiting, overlap, and the requests and use of tasks, beside the wall time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from pyscale.report.curves import Curve
from pyscale.report.wording import ABSENT, coarse, gib, of_requested, percent

Row = dict[str, Any]

MEMORY_SETTING = "`memory_gib` in the site's file"
CORES_SETTING = "`cpus` in the site's file, or `--cpus-per-worker`"
SAYS_MORE = ("queue_s", "start_stagger_s", "peak_rss_bytes", "cores_used", "requested_cpus")
"""Any of these is known of a configuration of which more is known than its wall time."""


def rows(found: Sequence[Curve]) -> list[list[str]]:
    """Cells of every timed configuration that says more than its wall time."""
    return [
        [curve.name, *cells(row)]
        for curve in found
        for row in curve.timed
        if any(row[column] is not None for column in SAYS_MORE)
    ]


def cells(row: Row) -> list[str]:
    """Cells of one configuration, after its stage's name."""
    alone = row["workers"] == 1
    in_turn = (row["windows"] or 0) > row["workers"]
    return [
        str(row["workers"]),
        str(row["windows"] or ABSENT),
        str(row["nodes"] or ABSENT),
        coarse(row["queue_s"]),
        coarse(row["queue_worst_s"]),
        ABSENT if alone else coarse(row["start_stagger_s"]),
        ABSENT if alone else percent(row["overlap"]),
        coarse(row["gap_s"]) if in_turn else ABSENT,
        of_requested(gib(row["peak_rss_bytes"]), gib(row["requested_memory_bytes"])),
        of_requested(coarse(row["cores_used"]), str(row["requested_cpus"] or ABSENT)),
    ]


def too_much(found: Sequence[Curve]) -> Iterator[str]:
    """State what the tasks of each stage requested and did not use, and what suffices.

    A request is one for all N, so the worker count that used most decides.
    """
    for curve in found:
        parts = [part for part in (_memory(curve.timed), _cores(curve.timed)) if part]
        if parts:
            yield f"{curve.name}: {'; '.join(parts)}."


def _memory(timed: Sequence[Row]) -> str | None:
    asked = [row for row in timed if row["memory_to_request_bytes"] is not None]
    enough = _most(asked, "memory_to_request_bytes")
    requested = _most(asked, "requested_memory_bytes")
    if enough >= requested:
        return None
    return (
        f"a task requested {gib(requested)} GiB of memory and used at most "
        f"{gib(_most(asked, 'peak_rss_bytes'))}; {gib(enough)} GiB (1.2 times that, in "
        f"whole GiB) suffices{_lowered_by(timed, MEMORY_SETTING)}"
    )


def _cores(timed: Sequence[Row]) -> str | None:
    asked = [row for row in timed if None not in {row["requested_cpus"], row["cores_used"]}]
    used, requested = _most(asked, "cores_used"), _most(asked, "requested_cpus")
    if math.ceil(used) >= requested:
        return None
    return (
        f"a task requested {requested} cores and used {coarse(used)} on average"
        f"{_lowered_by(timed, CORES_SETTING)}"
    )


def _lowered_by(timed: Sequence[Row], setting: str) -> str:
    """Name the setting, where pyscale itself submitted the tasks: then it knows their wait."""
    return f" ({setting})" if any(row["queue_s"] is not None for row in timed) else ""


def _most(rows: Sequence[Row], column: str) -> Any:
    return max((row[column] for row in rows), default=0)

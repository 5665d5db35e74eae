"""The title of a sweep, and what its numbers are."""

from __future__ import annotations

from pyscale.report.grid.sweep import Sweep
from pyscale.report.grid.words import title

OF_CALLS = (
    "Call: one image in one process, without the first; the median over calls, then over trials."
)
OF_A_TABLE = "The source of the table defines what its times include."
RATIOS = "Times as fast: the baseline's time over its own."
AP = "AP: average precision of one output against the other."


def title_of(sweep: Sweep) -> str:
    """Title of a sweep: the values that it compares."""
    values = [line.value for line in sweep.lines if line.value]
    return title(values, sweep.grid.versus, {row["device"] for row in sweep.points})


def note(sweep: Sweep) -> str:
    """Explain the numbers of its table."""
    parts = [
        OF_A_TABLE if sweep.is_table else OF_CALLS,
        "Brackets: 95 % intervals.",
        *([RATIOS] if sweep.compared else []),
        *([AP] if any(row["beside_ap_iou50"] is not None for row in sweep.points) else []),
    ]
    return " ".join(parts)

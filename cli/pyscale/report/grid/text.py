"""The section of each sweep in scaling_analysis.md."""

from __future__ import annotations

from typing import Any

from pyscale.report.grid.sweep import Sweep, sweeps
from pyscale.report.grid.times import mean_and_sd
from pyscale.report.grid.told import told
from pyscale.report.grid.trust import codes
from pyscale.report.grid.words import Row, objects, part, title, with_ends
from pyscale.report.results import Results
from pyscale.report.wording import (
    ABSENT,
    gib,
    number,
    percent,
    ratio,
    score,
    seconds,
)

OF_CALLS = (
    "Call: one image in one process, without the first; the median over calls, then over trials."
)
OF_A_TABLE = "The source of the table defines what its times include."
RATIOS = "Times as fast: the baseline's time over its own."
AP = "AP: average precision of one output against the other."


def sections(results: Results) -> list[dict[str, Any]]:
    """Tables and sentences of every sweep."""
    found = sweeps(results.grids)
    return [_section(sweep, several=len(found) > 1) for sweep in found]


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


def _section(sweep: Sweep, *, several: bool) -> dict[str, Any]:
    rows = [_point(sweep, row) for row in sweep.points]
    known = [name for name in rows[0] if any(row[name] != ABSENT for row in rows)]
    parts = list(dict.fromkeys(row["part"] for p in sweep.points for row in sweep.parts(p)))
    return {
        "title": f"{title_of(sweep)}: {sweep.name}" if several else title_of(sweep),
        "columns": known,
        "rows": [[row[name] for name in known] for row in rows],
        "note": note(sweep),
        "told": told(sweep),
        "part_columns": ["Size (px)", "On", *map(part, parts)],
        "parts": [
            [_px(point), sweep.line_of(point), *(held.get(name, ABSENT) for name in parts)]
            for point in sweep.points
            for held in (_parts(sweep, point),)
            if held
        ],
    }


def _point(sweep: Sweep, row: Row) -> dict[str, str]:
    found = sweep.ratio_of(row)
    memory = row["gpu_own_peak_bytes"]
    return {
        "Size (px)": _px(row),
        "On": sweep.line_of(row),
        "Trials": str(row["trials"]),
        "A call (s)": with_ends(row, "steady_s", number),
        "Megapixels/s": with_ends(row, "throughput_mp_s", number),
        "Times as fast": ABSENT if found is None else with_ends(found, "ratio", ratio),
        "First call (s)": with_ends(row, "first_s", number),
        "Building the model (s)": with_ends(row, "start_s", number),
        "Published protocol (s)": ABSENT if row["published_s"] is None else mean_and_sd(row),
        "AP at IoU 0.5": score(row["beside_ap_iou50"]),
        "AP at IoU 0.9": score(row["beside_ap_iou90"]),
        "Objects": objects(row),
        "Device memory (GiB)": ABSENT if memory is None else gib(round(memory)),
        "Energy of the GPU (J)": number(row["gpu_energy_j"]),
        "AP against the truth": number(row["quality"]),
        "Flags": ", ".join(codes(row)) or ABSENT,
        "Warnings": ", ".join(row["warnings"] or []) or ABSENT,
    }


def _parts(sweep: Sweep, point: Row) -> dict[str, str]:
    return {
        row["part"]: f"{seconds(row['part_s'])} ({percent(row['share'])})"
        for row in sweep.parts(point)
    }


def _px(row: Row) -> str:
    return ABSENT if row["length_px"] is None else f"{row['length_px']:.0f}"

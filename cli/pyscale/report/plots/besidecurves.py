"""Rows of what stands beside the configurations over N: ideals, laws, trials, others' results."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pyscale.analysis.fits import CurveFits
from pyscale.analysis.laws import Fit, OnLaw
from pyscale.references.model import Referred
from pyscale.report.curves import Curve, curves
from pyscale.report.plots.plot import WITH_ENDS, Row, ends_of
from pyscale.report.wording import number, ratio, speedup, wall_time

LAWS = {"usl": "universal scalability law", "amdahl": "Amdahl's law"}
WIDEST_BAND = 4.0
"""Upper over lower end of the band of a law that is drawn."""
STEPS = 32
"""Pieces of a line of ideal scaling."""


def ideal_rows(found: Sequence[Curve]) -> list[Row]:
    """The baseline's work divided evenly, where more than it was measured.

    In strong scaling the time is a hyperbola, which points close together draw on any axis.
    """
    return [
        {
            "curve": curve.name,
            "title": "",
            "workers": workers,
            "speedup": workers / base["workers"],
            "efficiency": 1.0,
            "wall_s": growth * base["worker_seconds"] / workers,
            "wall_share": growth * base["workers"] / workers,
            **_ideal_throughput(base, workers),
        }
        for curve in found
        if len(curve.timed) > 1
        for base in (curve.timed[0],)
        for workers, growth in _along(curve.timed)
    ]


def _along(timed: Sequence[Row]) -> list[tuple[float, float]]:
    """Numbers of workers, and the work at each over the baseline's, where that is known."""
    measured = [(float(row["workers"]), float(row["growth"])) for row in timed]
    if any(growth != 1 for _, growth in measured):
        return measured
    first, last = measured[0][0], measured[-1][0]
    return [(first * (last / first) ** (step / STEPS), 1.0) for step in range(STEPS + 1)]


def _ideal_throughput(base: Row, workers: float) -> Row:
    if not base["work"]:
        return {}
    each = base["work"] / base["worker_seconds"]
    return {"rate": each * workers, "each": each}


def law_rows(found: Sequence[Curve], fits: Sequence[CurveFits]) -> list[Row]:
    """Points along the fitted law of each curve: the universal law, or Amdahl's alone."""
    rows = []
    for curve in found:
        own = next((one for one in fits if curve.owns(one)), None)
        law = own and next((one for one in (own.usl, own.amdahl) if _is_narrow(one)), None)
        if not law:
            continue
        base = curve.timed[0]
        # A law tells times of the baseline's work, which are no wall times where it grew.
        grew = any(row["growth"] != 1 for row in curve.timed)
        rows += [
            {
                "curve": curve.name,
                "workers": at.workers,
                "law": LAWS[law.law],
                "sure": f"{ratio(at.speedup_low)} to {ratio(at.speedup_high)}",
                **{f"speedup{end}": getattr(at, f"speedup{end}") for end in WITH_ENDS},
                **{
                    f"efficiency{end}": getattr(at, f"speedup{end}") * base["workers"] / at.workers
                    for end in WITH_ENDS
                },
                **({} if grew else _of_wall(at, base["wall_s"])),
            }
            for at in law.line
        ]
    return rows


def _is_narrow(law: Fit) -> bool:
    """Whether a law is known so well that its band leaves room for the points."""
    ends = [(one.speedup_low, one.speedup_high) for one in law.line]
    return bool(ends) and all(high <= WIDEST_BAND * low for low, high in ends)


def _of_wall(at: OnLaw, base_s: float) -> Row:
    walls_s = {end: getattr(at, f"wall_s{end}") for end in WITH_ENDS}
    shares = {f"wall_share{end}": wall_s / base_s for end, wall_s in walls_s.items()}
    return {f"wall_s{end}": wall_s for end, wall_s in walls_s.items()} | shares


def asked_rows(found: Sequence[Curve]) -> list[Row]:
    """Memory that was asked for, where it was."""
    return [
        {
            "curve": curve.name,
            "workers": row["workers"],
            "memory_gib": row["requested_memory_bytes"] / 2**30,
            "memory_share": 1.0,
        }
        for curve in found
        for row in curve.timed
        if row["requested_memory_bytes"]
    ]


def trial_rows(found: Sequence[Curve], trials: pl.DataFrame) -> list[Row]:
    """Every timed trial."""
    return [
        {
            "curve": curve.name,
            "trial": row["trial"],
            "workers": row["workers"],
            "repeat": row["block"],
            "wall_s": row["wall_s"],
            "wall_share": row["wall_s"] / curve.timed[0]["wall_s"],
            "wall": f"{number(row['wall_s'])} s",
            "state": row["cache_state"],
        }
        for curve in found
        for row in curve.select(trials).filter("valid").iter_rows(named=True)
    ]


def reference_rows(
    found: Sequence[Curve], references: Sequence[Referred[pl.DataFrame]]
) -> list[Row]:
    """What others measured, beside the first curve of the same stage.

    At larger N than was measured here it would leave no room for what was.
    """
    most = max((row["workers"] for curve in found for row in curve.timed), default=0)
    names = {curve.key["stage"]: curve.name for curve in reversed(found)}
    return [
        {
            "curve": names[row["stage"]],
            "workers": row["workers"],
            "stage": row.get("label") or row["stage"],
            "title": one.reference.title,
            "source": one.reference.source,
            "hardware": ", ".join(one.reference.hardware.values()) or "not known",
            "from": row["baseline_workers"],
            "wall": f"{wall_time(row)} s",
            "speed": speedup(row),
            **ends_of("speedup", row),
            **ends_of("efficiency", row),
        }
        for one in references
        for curve in curves(one.found)
        for row in curve.timed
        if row["stage"] in names and row["workers"] <= most
    ]


def reference_ideals(found: Sequence[Curve], references: Sequence[Row]) -> list[Row]:
    """Ideal scaling of what others measured, where that began at another N than here."""
    first = {curve.name: curve.timed[0]["workers"] for curve in found}
    return [
        {"curve": row["curve"], "title": row["title"], "workers": row["workers"]}
        | {"speedup": row["workers"] / row["from"], "efficiency": 1.0}
        for row in references
        if row["from"] != first[row["curve"]]
    ]

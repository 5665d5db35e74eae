"""Datasets of the charts: what is drawn as numbers, what is read on it as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from pyscale.analysis.fits import CurveFits
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.laws import Fit, OnLaw
from pyscale.references.model import Referred
from pyscale.report.curves import Curve, curves
from pyscale.report.wording import (
    amount,
    coarse,
    efficiency,
    gib,
    number,
    ratio,
    speedup,
    wall_time,
)

Row = dict[str, Any]
LAWS = {"usl": "universal scalability law", "amdahl": "Amdahl's law"}
ENDS = ("", "_low", "_high")
WIDEST_BAND = 4.0
"""Upper over lower end of the band of a law that is drawn."""
STEPS = 32
"""Pieces of a line of ideal scaling."""


def configuration_rows(found: Sequence[Curve]) -> list[Row]:
    """Every configuration that was timed."""
    return [_configuration(curve, row) for curve in found for row in curve.timed]


def _configuration(curve: Curve, row: Row) -> Row:
    base = curve.timed[0]
    return {
        "curve": curve.name,
        "workers": row["workers"],
        "invalid": row["invalid"],
        "wall": f"{wall_time(row)} s{_range(row)}",
        "speed": speedup(row),
        "efficient": efficiency(row),
        "worker_s": f"{number(row['worker_seconds'])} s",
        "base": f"N = {base['workers']}: {wall_time(base)} s",
        "timed": _trials(row["repeats"]),
        "doubts": ", ".join(row["flags"]) or "none",
        **_ends("wall_s", row),
        **_ends("wall_share", row, "wall_s", 1 / base["wall_s"]),
        **_ends("speedup", row),
        **_ends("efficiency", row),
        **_throughput(row),
        **_extremes(row, base),
        **_memory(row),
        **_cost(row),
    }


def ideal_rows(found: Sequence[Curve]) -> list[Row]:
    """The baseline's work divided evenly, where more than it was measured.

    In strong scaling the time is a hyperbola, which points close together draw on any axis.
    """
    return [
        {
            "curve": curve.name,
            "workers": workers,
            "speedup_ideal": workers / base["workers"],
            "efficiency_ideal": 1.0,
            "wall_s_ideal": growth * base["worker_seconds"] / workers,
            "wall_share_ideal": growth * base["workers"] / workers,
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
    return {"rate_ideal": each * workers, "each_ideal": each}


def _ends(name: str, row: Row, column: str | None = None, factor: float = 1.0) -> Row:
    """A value and its interval, in the unit that the factor makes."""
    column = column or name
    return {
        f"{name}{end}": None if row[f"{column}{end}"] is None else factor * row[f"{column}{end}"]
        for end in ("", "_low", "_high")
    }


def _extremes(row: Row, base: Row) -> Row:
    """Ends of the range of the trials, where there are several and no interval."""
    if row["wall_s_low"] is not None or row["repeats"] < 2:
        return {"wall_s_min": None, "wall_s_max": None}
    found: Row = {}
    for end, other in (("min", "max"), ("max", "min")):
        found[f"wall_s_{end}"] = row[f"wall_s_{end}"]
        found[f"wall_share_{end}"] = row[f"wall_s_{end}"] / base["wall_s"]
        # The longest trial has the lowest speedup over the baseline's median, and rate.
        faster = row["wall_s"] / row[f"wall_s_{other}"]
        for column in ("speedup", "efficiency"):
            found[f"{column}_{end}"] = None if row[column] is None else row[column] * faster
        if row["work"]:
            found[f"rate_{end}"] = row["work"] / row[f"wall_s_{other}"]
            found[f"each_{end}"] = found[f"rate_{end}"] / row["workers"]
    return found


def _range(row: Row) -> str:
    if row["wall_s_low"] is not None or row["repeats"] < 2:
        return ""
    return f", {number(row['wall_s_min'])} to {number(row['wall_s_max'])}"


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
                **{f"speedup{end}": getattr(at, f"speedup{end}") for end in ENDS},
                **{
                    f"efficiency{end}": getattr(at, f"speedup{end}") * base["workers"] / at.workers
                    for end in ENDS
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
    walls_s = {end: getattr(at, f"wall_s{end}") for end in ENDS}
    shares = {f"wall_share{end}": wall_s / base_s for end, wall_s in walls_s.items()}
    return {f"wall_s{end}": wall_s for end, wall_s in walls_s.items()} | shares


def _throughput(row: Row) -> Row:
    """Work per second: its interval is that of the wall time, turned round."""
    work = row["work"]
    if not work:
        return {"rate": None, "each": None}
    rates = {
        f"rate{end}": None if row[f"wall_s{of}"] is None else work / row[f"wall_s{of}"]
        for end, of in (("", ""), ("_low", "_high"), ("_high", "_low"))
    }
    return {
        **rates,
        **_ends("each", rates, "rate", 1 / row["workers"]),
        "work": amount(work),
        "rated": f"{number(rates['rate'])} / s",
    }


def _memory(row: Row) -> Row:
    peak, asked = row["peak_rss_bytes"], row["requested_memory_bytes"]
    return {
        "memory_gib": peak / 2**30 if peak else None,
        "asked_gib": asked / 2**30 if asked else None,
        "memory_share": peak / asked if peak and asked else None,
        "asked_share": 1.0 if asked else None,
        "memory": f"{gib(peak)} GiB",
        "asked": f"{gib(asked)} GiB" if asked else "nothing",
        "enough": f"{gib(row['memory_to_request_bytes'])} GiB",
    }


def _cost(row: Row) -> Row:
    costs = {name: row.get(name) for name in ("core_hours", "gpu_hours", "money")}
    each = {f"{name}_each": row.get(f"{name}_per_work") for name in ("core_hours", "money")}
    currency = row.get("currency")
    return {
        **{name: costs[name] for name in ("core_hours", "money")},
        **each,
        "cores": number(costs["core_hours"]),
        "gpus": number(costs["gpu_hours"]),
        "price": f"{number(costs['money'])} {currency}" if currency else "not known",
    }


def trial_rows(found: Sequence[Curve], trials: pl.DataFrame) -> list[Row]:
    """Every timed trial, in the order in which they ran where that is known."""
    return [
        {
            "curve": curve.name,
            "trial": row["trial"],
            "workers": row["workers"],
            "place": None if row["position"] is None else row["position"] + 1,
            "repeat": row["block"],
            "wall_s": row["wall_s"],
            "wall_share": row["wall_s"] / curve.timed[0]["wall_s"],
            "wall": f"{number(row['wall_s'])} s",
            "state": row["cache_state"],
            "asked": row["cache_asked"] or "nothing",
            "read_s": row["phase_read_s"],
            "read_share": row["phase_read_s"] / row["busy_s"] if row["phase_read_s"] else None,
            "read": f"{coarse(row['phase_read_s'])} worker-seconds",
        }
        for curve in found
        for row in curve.select(trials).filter("valid").iter_rows(named=True)
    ]


def reference_rows(found: Sequence[Curve], references: Sequence[Referred]) -> list[Row]:
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
            "wall": f"{wall_time(row)} s",
            "speed": speedup(row),
            **_ends("speedup", row),
            **_ends("efficiency", row),
            "speedup_ideal": row["workers"] / row["baseline_workers"],
            "efficiency_ideal": 1.0,
        }
        for one in references
        for curve in curves(one.configurations)
        for row in curve.timed
        if row["stage"] in names and row["workers"] <= most
    ]


def _trials(count: int) -> str:
    few = "" if count >= repeats_needed() else ", too few for an interval"
    return f"{count}{few}"

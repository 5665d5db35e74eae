"""Rows of the plots over N: configurations, and the ideals, laws, trials and others beside them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pyscale.analysis.laws import CurveFits, Fit
from pyscale.analysis.referencemodel import Referred
from pyscale.report.context import ReportContext
from pyscale.report.curves import Curve, curves
from pyscale.report.plots.plot import Row, ends_of, trials_told
from pyscale.wording import (
    amount,
    efficiency,
    gib,
    number,
    ranged,
    ratio,
    speedup,
    wall_time,
)

LAWS = {"usl": "universal scalability law", "amdahl": "Amdahl's law"}
WIDEST_BAND = 4.0
"""Upper over lower end of the band of a law that is drawn."""
STEPS = 32
"""Pieces of a line of ideal scaling."""


def headings(found: Sequence[Curve], context: ReportContext) -> dict[str, list[str]]:
    """Name each curve with its algorithm, and its baseline with its wall time."""
    return {
        curve.name: [
            context.named(curve.name, curve.key["stage"]),
            f"baseline N = {base['workers']}: {number(base['wall_s'])} s",
        ]
        for curve in found
        for base in curve.timed[:1]
    }


def stand_ins(found: Sequence[Curve], context: ReportContext) -> list[str]:
    """Sentences on small models that ran in place of published ones in these curves."""
    own = (context.works.get(curve.key["stage"]) for curve in found)
    return list(dict.fromkeys(work.stand_in for work in own if work and work.stand_in))


def configuration_rows(found: Sequence[Curve]) -> list[Row]:
    """Every configuration that was timed."""
    return [_configuration(row, curve) for curve in found for row in curve.timed]


def _configuration(row: Row, curve: Curve) -> Row:
    base = curve.timed[0]
    peak, asked = row["peak_rss_bytes"], row["requested_memory_bytes"]
    costs = ("core_hours", "money")
    span = f", {number(row['wall_s_min'])} to {number(row['wall_s_max'])}" if ranged(row) else ""
    return {
        "curve": curve.name,
        "workers": row["workers"],
        "invalid": row["invalid"],
        "wall": f"{wall_time(row)} s{span}",
        "speed": speedup(row),
        "efficient": efficiency(row),
        "worker_s": f"{number(row['worker_seconds'])} s",
        "base": f"N = {base['workers']}: {wall_time(base)} s",
        "timed": trials_told(row["repeats"]),
        "doubts": ", ".join(row["flags"]) or "none",
        **ends_of("wall_s", row),
        **ends_of("wall_share", row, "wall_s", 1 / base["wall_s"]),
        **ends_of("speedup", row),
        **ends_of("efficiency", row),
        **_throughput(row),
        **(_extremes(row, base) if ranged(row) else {}),
        "memory_gib": peak / 2**30 if peak else None,
        "memory_share": peak / asked if peak and asked else None,
        "memory": f"{gib(peak)} GiB",
        "asked": f"{gib(asked)} GiB" if asked else "nothing",
        "enough": f"{gib(row['memory_to_request_bytes'])} GiB",
        **{name: row.get(name) for name in costs},
        **{f"{name}_each": row.get(f"{name}_per_work") for name in costs},
        "cores": number(row.get("core_hours")),
        "gpus": number(row.get("gpu_hours")),
        "price": f"{number(row['money'])} {row['currency']}"
        if row.get("currency")
        else "not known",
    }


def _extremes(row: Row, base: Row) -> Row:
    """Ends of the range of the trials."""
    found: Row = {}
    for end, other in (("min", "max"), ("max", "min")):
        found[f"wall_s_{end}"] = row[f"wall_s_{end}"]
        found[f"wall_share_{end}"] = row[f"wall_s_{end}"] / base["wall_s"]
        # The longest trial has the lowest speedup and rate.
        faster = row["wall_s"] / row[f"wall_s_{other}"]
        # Of any trial over any of the baseline's, whose own speedup is 1 by definition.
        if row["speedup"] is not None and row is not base:
            for column in ("speedup", "efficiency"):
                over_base = base[f"wall_s_{end}"] / base["wall_s"]
                found[f"{column}_{end}"] = row[column] * faster * over_base
        if row["work"]:
            found[f"rate_{end}"] = row["work"] / row[f"wall_s_{other}"]
            found[f"each_{end}"] = found[f"rate_{end}"] / row["workers"]
    return found


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
        **ends_of("each", rates, "rate", 1 / row["workers"]),
        "work": amount(work),
        "rated": f"{number(rates['rate'])} / s",
    }


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
        }
        | ({"rate": rate * workers, "each": rate} if rate else {})
        for curve in found
        if len(curve.timed) > 1
        for base in curve.timed[:1]
        for rate in ((base["work"] or 0) / base["worker_seconds"],)
        for workers, growth in _along(curve.timed)
    ]


def _along(timed: Sequence[Row]) -> list[tuple[float, float]]:
    """Numbers of workers, and the work at each over the baseline's, where that is known."""
    measured = [(float(row["workers"]), float(row["growth"])) for row in timed]
    if any(growth != 1 for _, growth in measured):
        return measured
    first, last = measured[0][0], measured[-1][0]
    return [(first * (last / first) ** (step / STEPS), 1.0) for step in range(STEPS + 1)]


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
        for at in law.line:
            row = at.model_dump()
            shares = ends_of("wall_share", row, "wall_s", over=base["wall_s"])
            rows.append(
                {
                    "curve": curve.name,
                    "workers": at.workers,
                    "law": LAWS[law.law],
                    "sure": f"{ratio(at.speedup_low)} to {ratio(at.speedup_high)}",
                    **ends_of("speedup", row),
                    **ends_of("efficiency", row, "speedup", base["workers"], at.workers),
                    **({} if grew else ends_of("wall_s", row) | shares),
                }
            )
    return rows


def _is_narrow(law: Fit) -> bool:
    """Whether a law is known so well that its band leaves room for the points."""
    ends = [(one.speedup_low, one.speedup_high) for one in law.line]
    return bool(ends) and all(high <= WIDEST_BAND * low for low, high in ends)


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

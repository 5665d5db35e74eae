"""Rows of the plots over N: what is drawn as numbers, what is read on it as text."""

from __future__ import annotations

from collections.abc import Sequence

from pyscale.report.context import ReportContext
from pyscale.report.curves import Curve
from pyscale.report.plots.plot import Row, ends_of, trials_told
from pyscale.report.wording import (
    amount,
    efficiency,
    gib,
    number,
    speedup,
    wall_time,
)


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
        "timed": trials_told(row["repeats"]),
        "doubts": ", ".join(row["flags"]) or "none",
        **ends_of("wall_s", row),
        **ends_of("wall_share", row, "wall_s", 1 / base["wall_s"]),
        **ends_of("speedup", row),
        **ends_of("efficiency", row),
        **_throughput(row),
        **_extremes(row, base),
        **_memory(row),
        **_cost(row),
    }


def _extremes(row: Row, base: Row) -> Row:
    """Ends of the range of the trials, where there are several and no interval.

    Of a speedup, that of any trial over any of the baseline's, whose own is 1 by definition.
    """
    found: Row = {}
    if row["wall_s_low"] is not None or row["repeats"] < 2:
        return found
    for end, other in (("min", "max"), ("max", "min")):
        found[f"wall_s_{end}"] = row[f"wall_s_{end}"]
        found[f"wall_share_{end}"] = row[f"wall_s_{end}"] / base["wall_s"]
        # The longest trial has the lowest speedup and rate.
        faster = row["wall_s"] / row[f"wall_s_{other}"]
        if row["speedup"] is not None and row is not base:
            for column in ("speedup", "efficiency"):
                over_base = base[f"wall_s_{end}"] / base["wall_s"]
                found[f"{column}_{end}"] = row[column] * faster * over_base
        if row["work"]:
            found[f"rate_{end}"] = row["work"] / row[f"wall_s_{other}"]
            found[f"each_{end}"] = found[f"rate_{end}"] / row["workers"]
    return found


def _range(row: Row) -> str:
    if row["wall_s_low"] is not None or row["repeats"] < 2:
        return ""
    return f", {number(row['wall_s_min'])} to {number(row['wall_s_max'])}"


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


def _memory(row: Row) -> Row:
    peak, asked = row["peak_rss_bytes"], row["requested_memory_bytes"]
    return {
        "memory_gib": peak / 2**30 if peak else None,
        "memory_share": peak / asked if peak and asked else None,
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

"""One row per configuration: wall time, speedup, efficiency, its factors, and every doubt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from statistics import median
from typing import Any

import polars as pl

from pyscale.analysis.declared import FLAG, REAL, TEXT, TEXTS, WHOLE, columns, ends_of
from pyscale.analysis.doubts import TIE, coarse_step, drifting, flag_codes, widened, widened_ratio
from pyscale.analysis.flags import is_invalid
from pyscale.analysis.intervals import (
    Interval,
    following,
    median_interval,
    ratio_interval_by_block,
    with_ends,
)
from pyscale.analysis.losses import (
    GROUP,
    CurveWork,
    curve_work,
    factors,
    scaled_serial_fraction,
    sums,
)
from pyscale.analysis.resource_request import requested_and_used
from pyscale.analysis.warned import codes

_WITH_ENDS = ends_of("speedup", "efficiency", "karp_flatt", "gustafson")
OVER_N = ("computation_scaling", *_WITH_ENDS.split())
"""Columns that compare a wall time with the baseline's."""
MEDIANS = ("mean_task_s", "sd_task_s", "queue_s", "start_stagger_s", "overlap", "gap_s")
"""Columns that are medians over the timed trials."""
SUPERLINEAR = 0.1
"""Efficiency beyond 1 that is said of too few trials for an interval, where none contradicts it."""


def configurations(trials: pl.DataFrame, *, interleaved: bool = True) -> pl.DataFrame:
    """Summarise the trials of every configuration and compare it with its baseline.

    The baseline of a curve (one suite, stage and device) is its smallest worker count with a timed
    trial. The wall time is the median over timed trials; `load_balance`, `computation_scaling`,
    `useful_share` and `merge_s` belong to the middle trials, so that `efficiency = load_balance /
    load_balance(N0) * computation_scaling * useful_share / useful_share(N0)` holds exactly (see
    `pyscale.analysis.losses`).

    Where the work grows with N, `growth` is the work at N over the baseline's and the speedup
    `growth * T(N0) / T(N)` is that in work done per second (Gustafson 1988, CACM 31:532); where it
    does not, or is not known, growth is 1. `karp_flatt` is only where N0 is 1 and the work is the
    same at every N or not known, `gustafson` where N0 is 1 and scaling is weak.

    `interleaved` is whether equal blocks ran close in time: the bootstrap of the speedup then
    resamples those in which both arms have a timed trial. Columns as docs/columns.md has them.
    """
    rows: list[dict[str, Any]] = []
    drifts = drifting(trials)
    for key, curve in trials.group_by(GROUP, maintain_order=True):
        timed = curve.filter("valid")
        # Without any timed trial the fewest workers asked for are named.
        base_workers = min((curve if timed.is_empty() else timed)["workers"].to_list())
        base = curve.filter(pl.col("workers") == base_workers)
        base_timed = base.filter("valid")
        work = curve_work(timed)
        for _, own in curve.sort("workers").group_by("workers", maintain_order=True):
            row = _row(own, base_timed, base_workers, work, interleaved=interleaved)
            flags = flag_codes(
                own,
                base,
                drifting=key in drifts,
                superlinear=_is_superlinear(row, own, base_timed),
            )
            rows.append(row | {"flags": flags, "invalid": is_invalid(flags), **codes(own)})
    return pl.DataFrame(rows, schema=_SCHEMA)


def karp_flatt(speedup: float, workers: int) -> float:
    """Serial fraction after Karp and Flatt (1990): `(1/S - 1/N) / (1 - 1/N)`."""
    return (1 / speedup - 1 / workers) / (1 - 1 / workers)


def _row(
    own: pl.DataFrame,
    base_timed: pl.DataFrame,
    base_workers: int,
    work: CurveWork,
    *,
    interleaved: bool,
) -> dict[str, Any]:
    """Describe one configuration; `own` holds all its trials."""
    timed = own.filter("valid")
    workers = int(own["workers"][0])
    row: dict[str, Any] = {
        **{key: own[key][0] for key in GROUP},
        "workers": workers,
        "baseline_workers": base_workers,
        "repeats": timed.height,
        "windows": own["windows"].max(),
        # Of the worst trial: the lowest score, and the tolerance that is hardest to reach.
        "agreement": own["agreement"].min(),
        "agreement_tolerance": own["agreement_tolerance"].max(),
        "agreement_measure": next(iter(own["agreement_measure"].drop_nulls()), None),
        # Null where nothing is known.
        "identical": own["agreement_identical"].min(),
        "quality": _median_quality(own["quality"].drop_nulls().to_list()),
        "work": work.by_workers.get(workers),
        "scaling": work.kind,
    }
    if base_timed.is_empty() or timed.is_empty():
        return row
    here, there, growth = sums(timed), sums(base_timed), work.growth(workers)
    wall_s, base_s = here["wall_s"], there["wall_s"]
    # A timed trial has a wall time; only the other sums may be absent.
    assert wall_s is not None
    assert base_s is not None
    speedup, interval = growth * base_s / wall_s, None
    # The baseline's speedup is 1 by definition: it has nothing to be uncertain about.
    if workers != base_workers:
        found = widened_ratio(
            ratio_interval_by_block(base_timed, timed, interleaved=interleaved),
            (base_s, coarse_step(base_timed)),
            (wall_s, coarse_step(timed)),
        )
        interval = found and Interval(growth * found.low, growth * found.high, found.coverage)
    states = sorted(set(timed["cache_state"].drop_nulls()))
    return row | {
        "growth": growth,
        **with_ends(
            "wall_s",
            wall_s,
            widened(median_interval(timed["wall_s"].to_list()), coarse_step(timed)),
        ),
        "wall_s_min": timed["wall_s"].min(),
        "wall_s_max": timed["wall_s"].max(),
        **with_ends("speedup", speedup, interval),
        **following("efficiency", lambda s: s * base_workers / workers, speedup, interval),
        **factors(here, there, growth=growth),
        "worker_seconds": workers * wall_s,
        "cache_state": "+".join(states) or None,
        "merge_s": here["merge_s"],
        **{name: timed[name].median() for name in MEDIANS},
        **{name: timed[name].max() for name in ("queue_worst_s", "nodes")},
        **_serial_fraction(speedup, interval, workers, base_workers, work),
        **requested_and_used(timed),
    }


def _is_superlinear(row: Mapping[str, Any], own: pl.DataFrame, base_timed: pl.DataFrame) -> bool:
    """Whether the efficiency is above 1 by more than the trials scatter."""
    if row.get("wall_s") is None or row["workers"] == row["baseline_workers"]:
        return False
    if row["efficiency_low"] is not None:
        return bool(row["efficiency_low"] > 1 + TIE)
    # Too few trials for an interval: even the least favourable pair of them must be above 1.
    slowest_s = own.filter("valid")["wall_s"].to_numpy().max()
    fastest_base_s = base_timed["wall_s"].to_numpy().min()
    least = row["growth"] * fastest_base_s / slowest_s * row["baseline_workers"] / row["workers"]
    return bool(least > 1 and row["efficiency"] >= 1 + SUPERLINEAR)


def _serial_fraction(
    speedup: float,
    interval: Interval | None,
    workers: int,
    base_workers: int,
    work: CurveWork,
) -> dict[str, float | None]:
    """Serial fraction by the law that the curve's kind of scaling follows, where one does."""
    # Both formulas hold a speedup against the time of one worker.
    if not base_workers == 1 < workers or work.kind == "mixed":
        return {}
    name, law = (
        ("gustafson", scaled_serial_fraction) if work.kind == "weak" else ("karp_flatt", karp_flatt)
    )
    return following(name, lambda own: law(own, workers), speedup, interval)


def _median_quality(records: list[str]) -> str:
    """Join the measures of all trials: the median of each over those that have it."""
    values: dict[str, list[float]] = {}
    for record in records:
        for name, value in json.loads(record).items():
            values.setdefault(name, []).append(value)
    return json.dumps({name: median(found) for name, found in sorted(values.items())})


_SCHEMA = columns(
    (TEXT, "suite stage"),
    (WHOLE, "workers repeats"),
    (REAL, "wall_s wall_s_low wall_s_high speedup speedup_low speedup_high efficiency"),
    (REAL, "load_balance computation_scaling useful_share worker_seconds"),
    (TEXT, "cache_state"),
    (REAL, "agreement"),
    (TEXT, "quality"),
    (TEXTS, "flags warnings"),
    (FLAG, "result_doubted"),
    (TEXT, "device"),
    (WHOLE, "baseline_workers"),
    (REAL, "merge_s mean_task_s sd_task_s queue_s start_stagger_s overlap efficiency_low"),
    (REAL, "efficiency_high karp_flatt"),
    (REAL, "karp_flatt_low karp_flatt_high gustafson gustafson_low gustafson_high work growth"),
    (TEXT, "scaling"),
    (FLAG, "identical invalid"),
    (REAL, "agreement_tolerance"),
    (TEXT, "agreement_measure"),
    (WHOLE, "windows nodes"),
    (REAL, "queue_worst_s gap_s"),
    (WHOLE, "peak_rss_bytes requested_memory_bytes memory_to_request_bytes"),
    (REAL, "memory_used_share cores_used"),
    (WHOLE, "requested_cpus"),
    (REAL, "wall_s_min wall_s_max"),
)

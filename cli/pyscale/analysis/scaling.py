"""One row per configuration: wall time, speedup, efficiency, its factors, and every doubt."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyscale.analysis.drift import Drift
from pyscale.analysis.flags import TIE, flag_codes, is_invalid
from pyscale.analysis.growth import CurveWork, curve_work, scaled_serial_fraction
from pyscale.analysis.intervals import Interval, median_interval, ratio_interval_by_block
from pyscale.analysis.losses import GROUP, Sums, factors, sums
from pyscale.analysis.requested import requested_and_used
from pyscale.analysis.warned import codes

if TYPE_CHECKING:
    import polars as pl

OVER_N = (
    *("speedup", "speedup_low", "speedup_high", "computation_scaling"),
    *("efficiency", "efficiency_low", "efficiency_high"),
    *("karp_flatt", "karp_flatt_low", "karp_flatt_high"),
    *("gustafson", "gustafson_low", "gustafson_high"),
)
"""Columns that compare a wall time with the baseline's."""
SUPERLINEAR = 0.1
"""Efficiency beyond 1 that is said of too few trials for an interval, where none contradicts it."""


def configurations(
    trials: pl.DataFrame, *, interleaved: bool = True, drifts: Sequence[Drift] = ()
) -> pl.DataFrame:
    """Summarise the trials of every configuration and compare it with its baseline.

    The baseline of a curve (one suite, stage and device) is its smallest worker count with a
    timed trial. The wall time is the median over timed trials; `load_balance`,
    `computation_scaling`, `useful_share` and `merge_s` belong to the middle trials, so that
    `efficiency = load_balance / load_balance(N0) * computation_scaling * useful_share /
    useful_share(N0)` holds exactly (see `pyscale.analysis.losses`).

    Where the work grows with N, `growth` is the work at N over the baseline's and the speedup
    is that in work done per second (Gustafson 1988, CACM 31:532); where it does not, or is not
    known, growth is 1 and all of it is that of strong scaling.

    Parameters
    ----------
    trials : polars.DataFrame
        As `trial_table` or `trials_from_wall_times` gives them.
    interleaved : bool
        Whether equal blocks ran close in time, one after the other, as pyscale's do: the
        bootstrap of the speedup then resamples those in which both arms have a timed trial.
    drifts : sequence of Drift
        Found in `trials` by `pyscale.analysis.drift`; flagged at every N of their curve.

    Returns
    -------
    polars.DataFrame
        Curves in the order of `trials`, each by rising worker count:

        suite, stage : str
        workers, repeats : int
            N, and the number of timed trials.
        wall_s, wall_s_low, wall_s_high : float
            Median T(N) and its order-statistic interval.
        speedup, speedup_low, speedup_high : float
            `S = growth * T(N0) / T(N)`, and its bootstrap interval.
        efficiency, efficiency_low, efficiency_high : float
            `S * N0 / N`, in weak scaling `T(N0) / T(N)`; as all that follows from the speedup
            alone, with the ends that follow from those of the speedup.
        load_balance, computation_scaling, useful_share : float
        worker_seconds : float
            `N * T(N)`.
        cache_state : str
            The state in all timed trials; several are joined by "+".
        agreement : float
            Lowest score of any trial's output against the baseline's.
        quality : str
            JSON object: median of each measure over the trials that have it.
        flags : list of str
            Codes whose sentences are `pyscale.analysis.flags.SENTENCES`.
        warnings : list of str
            Codes of what the stage warned of, with counts where it counts, like
            "unregistered-frames=37/48".
        result_doubted : bool
            Whether the result may be wrong for any of them.
        device : str
        baseline_workers : int
            N0.
        merge_s, queue_s, start_stagger_s, overlap : float
            Merge, inside T. Median wait, stagger and overlap of workers, beside T.
        karp_flatt, karp_flatt_low, karp_flatt_high : float
            Experimentally determined serial fraction; only where N0 is 1 and the work is the
            same at every N, or not known.
        gustafson, gustafson_low, gustafson_high : float
            Serial fraction of the time on N workers; only where N0 is 1 and scaling is weak.
        work, growth : float
            Median over timed trials, in frames or the unit of the table; and that over the
            baseline's, 1 where the work is the same at every N or not known.
        scaling : str
            Of the curve: "strong", "weak" or "mixed" (see `pyscale.analysis.growth`).
        identical : bool
            Whether the output of every trial has the bytes of the baseline's.
        invalid : bool
            Whether any flag is one of `pyscale.analysis.flags.INVALIDATING`: the speedup compares
            two different results.
        agreement_tolerance, agreement_measure : float, str
            The smallest score that counts as the same, and what the score is, in words.
        windows, nodes : int
            Windows of a trial, N or more; most nodes that a timed trial ran on.
        queue_worst_s, gap_s : float
            Longest wait of a worker in any timed trial; median worker-seconds between the
            windows of one worker, beside T.
        peak_rss_bytes, requested_memory_bytes, memory_to_request_bytes : int
            Highest memory of any task that asked for as much as the windows did, what that was,
            and what is enough.
        memory_used_share, cores_used : float
            The peak over the request; median over trials of the cores that tasks kept busy.
        requested_cpus : int
            Cores that each task asked for.

        A number that was not measured, or has no interval, is null.
    """
    import polars as pl

    rows: list[dict[str, Any]] = []
    drifting = {
        tuple(getattr(found, column) for column in GROUP) for found in drifts if found.drifts
    }
    for key, curve in trials.group_by(GROUP, maintain_order=True):
        timed = curve.filter("valid")
        base_workers = min((curve if timed.is_empty() else timed)["workers"].to_list())
        base = curve.filter(pl.col("workers") == base_workers)
        base_timed = base.filter("valid")
        there = None if base_timed.is_empty() else sums(base_timed)
        work = curve_work(timed)
        for _, own in curve.sort("workers").group_by("workers", maintain_order=True):
            row = _row(own, base_timed, there, base_workers, work, interleaved=interleaved)
            flags = flag_codes(
                own,
                base,
                drifting=key in drifting,
                superlinear=_is_superlinear(row, own, base_timed),
            )
            rows.append(row | {"flags": flags, "invalid": is_invalid(flags), **codes(own)})
    return pl.DataFrame(rows, schema=_schema())


def karp_flatt(speedup: float, workers: int) -> float:
    """Serial fraction that Amdahl's law needs for this speedup over one worker.

    `e = (1/S - 1/N) / (1 - 1/N)` (Karp and Flatt 1990). The same at every N it is a serial
    part; rising with N it is overhead.
    """
    return (1 / speedup - 1 / workers) / (1 - 1 / workers)


def _row(
    own: pl.DataFrame,
    base_timed: pl.DataFrame,
    there: Sums | None,
    base_workers: int,
    work: CurveWork,
    *,
    interleaved: bool,
) -> dict[str, Any]:
    """Describe one configuration; `own` holds all its trials, `there` is what the base's gave."""
    timed = own.filter("valid")
    workers = int(own["workers"][0])
    row: dict[str, Any] = {
        **{key: own[key][0] for key in GROUP},
        "workers": workers,
        "baseline_workers": base_workers,
        "repeats": timed.height,
        "windows": own["windows"].max(),
        "agreement": own["agreement"].min(),
        "agreement_tolerance": own["agreement_tolerance"].max(),
        "agreement_measure": next(iter(own["agreement_measure"].drop_nulls()), None),
        "identical": _all_known(own["agreement_identical"]),
        "quality": _median_quality(own["quality"].drop_nulls().to_list()),
        "work": work.by_workers.get(workers),
        "scaling": work.kind,
    }
    if there is None or timed.is_empty():
        return row
    here = sums(timed)
    growth = work.growth(workers)
    own_factors = factors(here, there, growth=growth)
    speedup = growth * there.wall_s / here.wall_s
    is_base = workers == base_workers
    wall_interval = median_interval(timed["wall_s"].to_list())
    # The baseline's speedup is 1 by definition: it has nothing to be uncertain about.
    speedup_interval = (
        None if is_base else _speedup_interval(base_timed, timed, growth, interleaved)
    )
    states = sorted(set(timed["cache_state"].drop_nulls()))
    return row | {
        "growth": growth,
        "wall_s": here.wall_s,
        **_ends("wall_s", wall_interval),
        "speedup": speedup,
        **_ends("speedup", speedup_interval),
        "efficiency": speedup * base_workers / workers,
        **_ends("efficiency", _following(speedup_interval, lambda s: s * base_workers / workers)),
        "load_balance": own_factors.load_balance,
        "computation_scaling": own_factors.computation_scaling,
        "useful_share": own_factors.useful_share,
        "worker_seconds": workers * here.wall_s,
        "cache_state": "+".join(states) or None,
        "merge_s": here.merge_s,
        "queue_s": timed["queue_s"].median(),
        "queue_worst_s": timed["queue_worst_s"].max(),
        "start_stagger_s": timed["start_stagger_s"].median(),
        "overlap": timed["overlap"].median(),
        "gap_s": timed["gap_s"].median(),
        "nodes": timed["nodes"].max(),
        **_serial_fraction(speedup, speedup_interval, workers, base_workers, work),
        **requested_and_used(timed),
    }


def _is_superlinear(row: Mapping[str, Any], own: pl.DataFrame, base_timed: pl.DataFrame) -> bool:
    """Whether the efficiency is above 1 by more than the trials scatter."""
    if row.get("wall_s") is None or row["workers"] == row["baseline_workers"]:
        return False
    if row["efficiency_low"] is not None:
        return bool(row["efficiency_low"] > 1 + TIE)
    slowest_s = own.filter("valid")["wall_s"].to_numpy().max()
    fastest_base_s = base_timed["wall_s"].to_numpy().min()
    least = row["growth"] * fastest_base_s / slowest_s * row["baseline_workers"] / row["workers"]
    return bool(least > 1 and row["efficiency"] >= 1 + SUPERLINEAR)


def _following(interval: Interval | None, formula: Callable[[float], float]) -> Interval | None:
    """Interval of what rises or falls with a number, from the ends of that number's own."""
    if interval is None:
        return None
    low, high = sorted(map(formula, interval[:2]))
    return Interval(low, high, interval.coverage)


def _serial_fraction(
    speedup: float,
    interval: Interval | None,
    workers: int,
    base_workers: int,
    work: CurveWork,
) -> dict[str, float | None]:
    """Serial fraction by the law that the curve's kind of scaling follows, where one does."""
    if not base_workers == 1 < workers or work.kind == "mixed":
        return {}
    name, law = (
        ("gustafson", scaled_serial_fraction) if work.kind == "weak" else ("karp_flatt", karp_flatt)
    )
    ends = _following(interval, lambda own: law(own, workers))
    return {name: law(speedup, workers), **_ends(name, ends)}


def _speedup_interval(
    base: pl.DataFrame, own: pl.DataFrame, growth: float, interleaved: bool
) -> Interval | None:
    """Bootstrap the speedup, by the blocks that have timed both arms."""
    found = ratio_interval_by_block(base, own, interleaved=interleaved)
    return found and Interval(growth * found.low, growth * found.high, found.coverage)


def _ends(name: str, interval: Interval | None) -> dict[str, float | None]:
    low, high = (interval.low, interval.high) if interval else (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def _all_known(found: pl.Series) -> bool | None:
    """Whether all that is known is true; None where nothing is."""
    known = found.drop_nulls()
    return bool(known.all()) if len(known) else None


def _median_quality(records: list[str]) -> str:
    """Join the measures of all trials: the median of each over those that have it."""
    from statistics import median

    values: dict[str, list[float]] = {}
    for record in records:
        for name, value in json.loads(record).items():
            values.setdefault(name, []).append(value)
    return json.dumps({name: median(found) for name, found in sorted(values.items())})


def _schema() -> dict[str, Any]:
    import polars as pl

    number = pl.Float64
    return {
        "suite": pl.String,
        "stage": pl.String,
        "workers": pl.Int64,
        "repeats": pl.Int64,
        "wall_s": number,
        "wall_s_low": number,
        "wall_s_high": number,
        "speedup": number,
        "speedup_low": number,
        "speedup_high": number,
        "efficiency": number,
        "load_balance": number,
        "computation_scaling": number,
        "useful_share": number,
        "worker_seconds": number,
        "cache_state": pl.String,
        "agreement": number,
        "quality": pl.String,
        "flags": pl.List(pl.String),
        "warnings": pl.List(pl.String),
        "result_doubted": pl.Boolean,
        "device": pl.String,
        "baseline_workers": pl.Int64,
        "merge_s": number,
        "queue_s": number,
        "start_stagger_s": number,
        "overlap": number,
        "efficiency_low": number,
        "efficiency_high": number,
        "karp_flatt": number,
        "karp_flatt_low": number,
        "karp_flatt_high": number,
        "gustafson": number,
        "gustafson_low": number,
        "gustafson_high": number,
        "work": number,
        "growth": number,
        "scaling": pl.String,
        "identical": pl.Boolean,
        "invalid": pl.Boolean,
        "agreement_tolerance": number,
        "agreement_measure": pl.String,
        "windows": pl.Int64,
        "nodes": pl.Int64,
        "queue_worst_s": number,
        "gap_s": number,
        "peak_rss_bytes": pl.Int64,
        "requested_memory_bytes": pl.Int64,
        "memory_to_request_bytes": pl.Int64,
        "memory_used_share": number,
        "cores_used": number,
        "requested_cpus": pl.Int64,
    }

"""Columns of the tables of what reconstructing over ranks gave."""

from __future__ import annotations

from typing import Any

from pyscale.analysis.reconstruct.components import EVERY, column
from pyscale_stages.reconstruction import COMPONENTS

QUALITY = ("psnr_db", "psnr_interior_db", "psnr_border_db")
DEVIATIONS = ("deviation_interior", "deviation_border")
GATES = ("gate_gradient", "gate_interior", "gate_border")


def _with_ends(name: str) -> tuple[str, str, str]:
    """Give the columns of a number that has an interval."""
    return name, f"{name}_low", f"{name}_high"


def trial_schema() -> dict[str, Any]:
    """Columns of `pyscale.analysis.reconstruct.trials.reconstruct_trials`, one row a trial.

    What was not measured is null, and all times of a trial in which a rank failed are.

    stage, family, problem, size_px, shape, workers, trial, block, attempt
        Which trial: `stage` is the entry of the suite, `workers` the number of ranks N.
    complete, valid : bool
        Whether every rank measured; and whether the trial counts, which one that was tried again
        does not, unless asked for.
    error : str
        Of the rank whose memory ran out, else of the first rank that failed.
    exhausted : bool
        Whether memory ran out on a rank.
    wall_s, gradient_s, denoiser_s, communication_s, gather_s, barrier_s, objective_s : float
        Median over iterations of the time of the rank where it is longest.
    wall_mean_s, gradient_mean_s, … : float
        Median over iterations of the mean over ranks.
    ranks_s : float
        Sum of the wall times of all iterations of all ranks.
    gradient_share, …, barrier_share : float
        Sum of a component over all iterations of all ranks, as a share of `ranks_s`.
    rest_share : float
        What of an iteration is in no component, or in two, as a share of its wall time: median
        over iterations, of the rank where it is largest.
    balance, tiles_balance : float
        Mean over the largest value of the ranks: of the time in gradient and denoiser (median
        over iterations), and of the number of tiles.
    operators, tile_px, overlap_px, tiles, work_multiplier
        As `pyscale_stages.reconstruction` describes them.
    memory_peak_bytes, memory_total_bytes : int
        The most that a rank held, and the least that one has.
    setup_s : float
        Of the rank that took longest.
    psnr_db, psnr_interior_db, psnr_border_db, gate_gradient, gate_interior, gate_border, \
gate_interior_px, gate_why_not
        From the first rank, which alone computes them.
    deviation_interior, deviation_border : float
        Of the image from that of the fewest ranks, as shares of its largest value.
    weights, timing_only, backend, device, device_name
        As recorded; several names of devices with commas between.
    oversubscribed, disturbed, hardware
        As recorded.
    """
    import polars as pl

    text, whole, real, flag = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()
    times = [column(component) for component in EVERY]
    return {
        **dict.fromkeys(("stage", "family", "problem"), text),
        "size_px": whole,
        "shape": text,
        "workers": whole,
        "trial": text,
        "block": whole,
        "attempt": whole,
        "complete": flag,
        "valid": flag,
        "error": text,
        "exhausted": flag,
        **{f"{name}_s": real for name in times},
        **{f"{name}_mean_s": real for name in times},
        "ranks_s": real,
        **{f"{name}_share": real for name in COMPONENTS},
        **dict.fromkeys(("rest_share", "balance", "tiles_balance"), real),
        **dict.fromkeys(("operators", "tile_px", "overlap_px", "tiles"), whole),
        "work_multiplier": real,
        "memory_peak_bytes": whole,
        "memory_total_bytes": whole,
        "setup_s": real,
        **dict.fromkeys(QUALITY, real),
        **dict.fromkeys(GATES, real),
        "gate_interior_px": whole,
        "gate_why_not": text,
        **dict.fromkeys(DEVIATIONS, real),
        "weights": text,
        "timing_only": flag,
        **dict.fromkeys(("backend", "device", "device_name"), text),
        "oversubscribed": flag,
        "disturbed": flag,
        "hardware": pl.List(text),
    }


def scaling_schema() -> dict[str, Any]:
    """Columns of `pyscale.analysis.reconstruct.scaling.component_scaling`.

    One row a component of an entry at one N; without a trial that counts all times are null.

    stage, family, problem, size_px, workers : str and int
        Which configuration.
    component : str
        "total", "gradient", "denoiser", "communication", "gather", "barrier" or "objective", which
        is no part of the total.
    repeats : int
        Trials that count.
    seconds, seconds_low, seconds_high : float
        Median over trials of the time of the slowest rank in an iteration, and the ends of a 95 %
        interval of it, null below six trials.
    mean_seconds : float
        Median over trials of the mean time of the ranks.
    share : float
        Of the time of all ranks in iterations; null for the objective, which is no part of them.
    baseline_workers : int
        N0, the smallest N with a trial that counts.
    speedup, speedup_low, speedup_high : float
        Seconds at N0 over seconds at N, and the ends of its 95 % interval. Null where either is
        nothing, and for what passes between ranks where N0 is 1.
    efficiency, efficiency_low, efficiency_high : float
        Speedup * N0 / N.
    normalised_efficiency : float
        Efficiency for the same number of denoised pixels: times `work_multiplier` at N over that
        at N0. Of total and denoiser alone.
    loss_s : float
        `mean_seconds` beyond what they were if the component took N0 / N of its time at N0.
    work_multiplier : float
        Pixels that all ranks denoise over those of the image.
    flags : str
        Doubts with commas between; see `pyscale.analysis.reconstruct.flags.SENTENCES`.
    """
    import polars as pl

    text, whole, real = pl.String(), pl.Int64(), pl.Float64()
    return {
        **dict.fromkeys(("stage", "family", "problem"), text),
        "size_px": whole,
        "workers": whole,
        "component": text,
        "repeats": whole,
        **dict.fromkeys((*_with_ends("seconds"), "mean_seconds", "share"), real),
        "baseline_workers": whole,
        **dict.fromkeys((*_with_ends("speedup"), *_with_ends("efficiency")), real),
        **dict.fromkeys(("normalised_efficiency", "loss_s", "work_multiplier"), real),
        "flags": text,
    }


def point_schema() -> dict[str, Any]:
    """Columns of `pyscale.analysis.reconstruct.points.reconstruct_points`, an entry at one N a row.

    stage, family, problem, size_px, shape, workers, baseline_workers
        Which configuration, and the smallest N of its entry with a trial that counts.
    repeats, failed, error, exhausted
        Trials that count, trials that failed, the first error, and whether memory ran out in any.
    wall_s, wall_s_low, wall_s_high : float
        Median over trials of an iteration of the slowest rank; with the ends of a 95 % interval.
    setup_s : float
        Median over trials.
    communication_share, barrier_share : float
        Shares of the time of all ranks in iterations: of both exchanges, that of the gradient and
        that of the tiles; and of waiting for other ranks.
    rest_share : float
        See `trial_schema`; the largest of any trial that counts.
    balance : float
        Of the middle trial by `wall_s` (of two middle ones the slower).
    operators, tile_px, overlap_px, tiles, tiles_balance, work_multiplier
        See `trial_schema`.
    memory_peak_bytes, memory_total_bytes : int
        The most and the least of any trial that counts.
    psnr_db, psnr_drift_db, psnr_interior_db, psnr_interior_drift_db, psnr_border_db, \
psnr_border_drift_db : float
        Medians over trials, and how much more that is than with `baseline_workers`.
    deviation_interior, deviation_border, gate_gradient, gate_interior, gate_border : float
        The largest of any trial that counts.
    gate_interior_px, gate_why_not
        Fewest pixels of the interior, and the first reason why something was not compared.
    gate : str
        "agrees", "differs" or "not compared": ranks together with one rank, by the tolerances of
        `pyscale_stages.reconstruction`. Null with one rank, and where no trial counts.
    weights, timing_only, backend, device, device_name
        As recorded.
    flags : str
        Doubts with commas between; see `pyscale.analysis.reconstruct.flags.SENTENCES`.
    """
    import polars as pl

    text, whole, real, flag = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()
    drifts = {
        name: real for each in QUALITY for name in (each, each.removesuffix("_db") + "_drift_db")
    }
    return {
        **dict.fromkeys(("stage", "family", "problem"), text),
        "size_px": whole,
        "shape": text,
        **dict.fromkeys(("workers", "baseline_workers", "repeats", "failed"), whole),
        "error": text,
        "exhausted": flag,
        **dict.fromkeys((*_with_ends("wall_s"), "setup_s"), real),
        **dict.fromkeys(("communication_share", "barrier_share", "rest_share", "balance"), real),
        **dict.fromkeys(("operators", "tile_px", "overlap_px", "tiles"), whole),
        "tiles_balance": real,
        "work_multiplier": real,
        "memory_peak_bytes": whole,
        "memory_total_bytes": whole,
        **drifts,
        **dict.fromkeys(DEVIATIONS, real),
        **dict.fromkeys(GATES, real),
        "gate_interior_px": whole,
        **dict.fromkeys(("gate_why_not", "gate", "weights"), text),
        "timing_only": flag,
        **dict.fromkeys(("backend", "device", "device_name", "flags"), text),
    }


def largest_schema() -> dict[str, Any]:
    """Columns of `pyscale.analysis.reconstruct.largest.largest_sizes`.

    family, problem, workers : str and int
        One row for each N of the entries of a family that have the same problem.
    largest_px : int
        Largest size of which a trial was complete; null where none was.
    exhausted_px : int
        Smallest size of which memory ran out in a trial; null where it never did.
    """
    import polars as pl

    text, whole = pl.String(), pl.Int64()
    return {
        **dict.fromkeys(("family", "problem"), text),
        **dict.fromkeys(("workers", "largest_px", "exhausted_px"), whole),
    }

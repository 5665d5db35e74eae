"""Columns of the table of points of a grid."""

from __future__ import annotations

from typing import Any

from pyscale.analysis.grid.samples import MEASURES

TASK_MEDIANS = ("objects", "gpu_own_peak_bytes", "gpu_peak_bytes", "gpu_energy_j", "cpu_energy_j")
"""Columns of the table of tasks whose median over the windows' tasks a point has."""
BESIDE = {
    "beside_ap_iou50": "ap_iou50",
    "beside_ap_iou90": "ap_iou90",
    "beside_objects": "cells_other",
    "beside_objects_base": "cells_reference",
}
"""Columns of a point, and the measures of the stage's comparison with its base that they are."""


def point_schema() -> dict[str, Any]:
    """Columns of `grid_points`.

    suite, family, stage : str
        The grid's entry, and the point's own, which is the stage in all other tables.
    series : str
        Values of the axes other than versus and against that vary in the family, like
        "batch_size 8, model cyto3"; "" where none does. In a table of several machines: the
        machine.
    value, base : str
        Value of versus, like cuda or "threads 2", and that which it is compared with; the latter
        null for the base itself, and where the base was not measured.
    base_stage : str
        Stage of the point that this one is compared with, at the same N.
    device : str
        cpu, cuda or mps; in a table the kind that is written there.
    threads : int
        Cores of each worker.
    gpu_sharing : str
    model : str
    batch_size : int
        Null where the grid has no such axis.
    point : str
        The point as a JSON object.
    workers, pixels : int
        N; height times width of an image, as the grid asks for where no call ended.
    megapixels, length_px : float
        Pixels over 1e6; the square root of the pixels.
    trials, calls : int
        Timed trials, and the calls in them.
    steady_s, first_s, start_s, fresh_s : float, each with _low and _high
        Median over timed trials in seconds and its order-statistic interval, null below six:
        of a call after the first of its process, of the first, of building the model, and of
        these two together.
    published_s, published_s_low, published_s_high, published_sd_s : float
        Mean of building and call together, the mean less and plus the standard deviation over
        calls, which is no interval, and that deviation.
    published_calls : int
        Calls that this mean is of.
    throughput_mp_s, throughput_mp_s_low, throughput_mp_s_high : float
        Megapixels per second of all N workers together, in steady calls; in first ones where
        there are no others.
    objects : float
        Median over the windows' tasks of timed trials, as are the four that follow.
    gpu_own_peak_bytes, gpu_peak_bytes, gpu_energy_j, cpu_energy_j : float
    beside_ap_iou50, beside_ap_iou90, beside_objects, beside_objects_base : float
        Of the comparison of its output with the base's: lowest over trials of the first two, and
        the objects of either output in the first trial.
    quality : float
        Median over trials of the average precision at an IoU of 0.5 against the truth.
    flags : list of str
        Codes of `pyscale.analysis.flags.SENTENCES`.
    warnings : list of str
        Codes of what the stage warned of, with counts.
    result_doubted : bool
        Whether the result may be wrong for any of them.
    invalid : bool
        Whether a flag says that it did other work than its baseline: no law is fitted to it.

    What was not measured is null.
    """
    import polars as pl

    number = pl.Float64
    return {
        "suite": pl.String,
        "family": pl.String,
        "stage": pl.String,
        "series": pl.String,
        "value": pl.String,
        "base": pl.String,
        "base_stage": pl.String,
        "device": pl.String,
        "threads": pl.Int64,
        "gpu_sharing": pl.String,
        "model": pl.String,
        "batch_size": pl.Int64,
        "point": pl.String,
        "workers": pl.Int64,
        "pixels": pl.Int64,
        "megapixels": number,
        "length_px": number,
        "trials": pl.Int64,
        "calls": pl.Int64,
        **{f"{measure}_s{end}": number for measure in MEASURES for end in ("", "_low", "_high")},
        "published_sd_s": number,
        "published_calls": pl.Int64,
        "throughput_mp_s": number,
        "throughput_mp_s_low": number,
        "throughput_mp_s_high": number,
        **dict.fromkeys((*TASK_MEDIANS, *BESIDE, "quality"), number),
        "flags": pl.List(pl.String),
        "warnings": pl.List(pl.String),
        "result_doubted": pl.Boolean,
        "invalid": pl.Boolean,
    }

"""Columns of the tidy tables of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def task_schema() -> dict[str, pl.DataType]:
    """Columns of the table of tasks.

    `begin_utc`, `start_utc` and `end_utc` are on the clock of the machine that ran pyscale, by
    `clock_offset_s`, wherever that is known (see `pyscale.analysis.clocks`).
    """
    import polars as pl

    text, whole, real, flag = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()
    time = pl.Datetime("us", "UTC")
    return {
        "trial": text,
        "suite": text,
        "stage": text,
        "workers": whole,
        "windows": whole,
        "block": whole,
        "position": whole,
        "task": text,
        "verb": text,
        "lane": whole,
        "status": text,
        "error": text,
        "device": text,
        "wall_s": real,
        "submit_utc": time,
        "begin_utc": time,
        "start_utc": time,
        "end_utc": time,
        "queue_s": real,
        "prepare_s": real,
        "node": text,
        "job_id": text,
        "clock_offset_s": real,
        "clock_error_s": real,
        "frames": whole,
        "objects": whole,
        "input_bytes": whole,
        "output_bytes": whole,
        "read_bytes": whole,
        "write_bytes": whole,
        "storage_read_bytes": whole,
        "cpu_s": real,
        "cores_used": real,
        "requested_cpus": whole,
        "peak_rss_bytes": whole,
        "requested_memory_bytes": whole,
        "memory_used_share": real,
        "requested_time_s": whole,
        "requested_gpus": whole,
        "gpu_peak_bytes": whole,
        "gpu_mean_utilisation": real,
        "cache_state": text,
        "agreement": real,
        "agreement_same": flag,
        "agreement_identical": flag,
        "quality": text,
        "attempt": whole,
        "oversubscribed": flag,
        "disturbed": flag,
        "hardware": text,
        "image": text,
        "image_sha256": text,
    }


def span_schema() -> dict[str, pl.DataType]:
    """Columns of the table of spans; `start_utc` is corrected as in the table of tasks."""
    import polars as pl

    return {
        "trial": pl.String(),
        "stage": pl.String(),
        "workers": pl.Int64(),
        "block": pl.Int64(),
        "task": pl.String(),
        "phase": pl.String(),
        "start_utc": pl.Datetime("us", "UTC"),
        "wall_s": pl.Float64(),
    }

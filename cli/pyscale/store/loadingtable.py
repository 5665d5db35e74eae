"""The table of loading: its columns, and its rows from the records of one trial."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from pyscale.analysis.loader.columns import SETTINGS, setting_columns
from pyscale.analysis.schema import REAL, TEXT, WHOLE, Schema, columns
from pyscale.plan import Trial
from pyscale.store.columns import rank_rows, rank_schema
from pyscale.store.records import TaskRecord
from pyscale_stages.loading import BatchWindow, Loading


def loading_schema() -> Schema:
    """Columns of the table of loading, one row a rank of a trial of the stage `loader`.

    A rank that failed has its error, and null in all that was to be measured.

    trial, suite, stage, family, point, workers, block, task
        As in the table of tasks: `stage` is the entry of the suite, `workers` the number of ranks.
    rank
        Which of the ranks it is, from 0.
    attempt, status, error, node, hardware, cache_asked, cache_state, oversubscribed, disturbed
        As in the table of tasks.
    cpus
        Numbers of the cores that the rank was pinned to, to tell ranks that share cores from
        ranks that do not.
    factory, reader, num_workers, …, tissue
        Parameters of the stage, as `pyscale_stages.loader.params.LoaderParams` describes them.
    settings
        All of its parameters, a JSON object.
    slides, cores, patch_bytes, pss_bytes, rss_bytes, checksum, checksum_patches, consumed_per_s, \
consumer
        As `pyscale_stages.loading.Loading` describes them.
    free_wall_s, free_batches, free_patches, free_prefetched, free_…_bytes, free_cpu_s
        Of the batches that the rank took without waiting for others; `free_prefetched` were taken
        before the clock started.
    free_wait_p50_s, …_p95_s, …_p99_s, …_max_s
        Percentiles and maximum of how long one of these batches was waited for.
    together_…
        The same of the batches that were taken in step with the other ranks; null where there is
        one rank. A step is the wait, the copy and the meeting of the ranks.
    copy_mean_s
        Mean time in which a batch was copied to the device; null where none was.
    diversity_patches, slides_per_batch, distance_px, effective_slides
        As `pyscale_stages.loading.Diversity` describes them.
    """
    return (
        rank_schema()
        | columns((pl.List(WHOLE), "cpus"), (TEXT, "cache_asked cache_state"))
        | setting_columns()
        | columns(
            (TEXT, "settings"),
            (WHOLE, "slides cores patch_bytes"),
            (REAL, "free_wall_s"),
            (WHOLE, "free_batches free_patches free_prefetched"),
            (REAL, "free_wait_p50_s free_wait_p95_s free_wait_p99_s free_wait_max_s"),
            (WHOLE, "free_read_bytes free_storage_read_bytes"),
            (REAL, "free_cpu_s together_wall_s"),
            (WHOLE, "together_batches together_patches"),
            (REAL, "together_wait_p50_s together_wait_p95_s together_wait_p99_s"),
            (REAL, "together_step_p50_s together_step_p95_s together_step_p99_s copy_mean_s"),
            (WHOLE, "pss_bytes rss_bytes diversity_patches"),
            (REAL, "slides_per_batch distance_px effective_slides"),
            (TEXT, "checksum"),
            (WHOLE, "checksum_patches"),
            (REAL, "consumed_per_s"),
            (TEXT, "consumer"),
        )
    )


_PERCENTILES = {"p50_s": 50, "p95_s": 95, "p99_s": 99}


def loading_rows(
    trial: Trial, tasks: Iterable[Mapping[str, Any]], records: Mapping[str, TaskRecord]
) -> Iterator[dict[str, Any]]:
    """Rows of the ranks of a trial that have ended, the failed ones too."""
    if not trial.loads_patches:
        return
    for task, of_rank in rank_rows(trial, tasks, ("cache_asked", "cache_state")):
        record = records[task]
        found = record.result.loading if record.result is not None else None
        yield {
            **of_rank,
            "cpus": list(record.launch.cpus) if record.launch else None,
            **{name: trial.params.get(name) for name in SETTINGS},
            **(_measured(found) if found is not None else {}),
        }


def _measured(found: Loading) -> dict[str, Any]:
    """Columns of what a rank measured."""
    free, together, diversity = found.free, found.together, found.diversity
    copies = (together or free).copies_s
    return {
        # What was evicted for the window is cold in it, whatever was asked for before the trial.
        **({} if free.cache is None else {"cache_asked": "cold", "cache_state": free.cache}),
        "slides": found.slides,
        "cores": found.cores,
        "patch_bytes": found.patch_bytes,
        **_window("free", free),
        "free_prefetched": free.prefetched_batches,
        "free_wait_max_s": max(free.waits_s),
        "free_read_bytes": free.read_bytes,
        "free_storage_read_bytes": free.storage_read_bytes,
        "free_cpu_s": free.cpu_s,
        **({} if together is None else _window("together", together)),
        **({} if together is None else _percentiles("together_step", together.steps_s)),
        "copy_mean_s": sum(copies) / len(copies) if copies else None,
        "pss_bytes": found.pss_bytes,
        "rss_bytes": found.rss_bytes,
        **({} if diversity is None else _diversity(diversity.model_dump())),
        "checksum": found.checksum,
        "checksum_patches": found.checksum_patches,
        "consumed_per_s": found.consumed_per_s,
        "consumer": found.consumer,
    }


def _diversity(told: dict[str, Any]) -> dict[str, Any]:
    return {"diversity_patches": told.pop("patches"), **told}


def _window(name: str, window: BatchWindow) -> dict[str, Any]:
    return {
        f"{name}_wall_s": window.wall_s,
        f"{name}_batches": len(window.waits_s),
        f"{name}_patches": window.patches,
        **_percentiles(f"{name}_wait", window.waits_s),
    }


def _percentiles(name: str, times_s: tuple[float, ...]) -> dict[str, float]:
    """Percentiles of times; of times that nobody took there are none."""
    if not times_s:
        return {}
    values = np.percentile(times_s, list(_PERCENTILES.values()))
    return {
        f"{name}_{which}": float(value) for which, value in zip(_PERCENTILES, values, strict=True)
    }

"""Columns of the table of what loading patches gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.analysis.loader.settings import setting_columns
from pyscale.store.rankcolumns import rank_schema

if TYPE_CHECKING:
    import polars as pl


def loading_schema() -> dict[str, pl.DataType]:
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
    import polars as pl

    text, whole, real = pl.String(), pl.Int64(), pl.Float64()
    return {
        **rank_schema(),
        "cpus": pl.List(whole),
        "cache_asked": text,
        "cache_state": text,
        **setting_columns(),
        "settings": text,
        "slides": whole,
        "cores": whole,
        "patch_bytes": whole,
        "free_wall_s": real,
        "free_batches": whole,
        "free_patches": whole,
        "free_prefetched": whole,
        "free_wait_p50_s": real,
        "free_wait_p95_s": real,
        "free_wait_p99_s": real,
        "free_wait_max_s": real,
        "free_read_bytes": whole,
        "free_storage_read_bytes": whole,
        "free_cpu_s": real,
        "together_wall_s": real,
        "together_batches": whole,
        "together_patches": whole,
        "together_wait_p50_s": real,
        "together_wait_p95_s": real,
        "together_wait_p99_s": real,
        "together_step_p50_s": real,
        "together_step_p95_s": real,
        "together_step_p99_s": real,
        "copy_mean_s": real,
        "pss_bytes": whole,
        "rss_bytes": whole,
        "diversity_patches": whole,
        "slides_per_batch": real,
        "distance_px": real,
        "effective_slides": real,
        "checksum": text,
        "checksum_patches": whole,
        "consumed_per_s": real,
        "consumer": text,
    }

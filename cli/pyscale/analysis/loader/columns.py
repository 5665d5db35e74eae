"""Columns of the tables of what loading patches gave."""

from __future__ import annotations

from typing import Any

from pyscale.analysis.loader.settings import setting_columns


def trial_schema() -> dict[str, Any]:
    """Columns of `pyscale.analysis.loader.trials.loader_trials`, one row a trial.

    What could not be measured is null; so is a sum over ranks of which a part is not known.

    stage, workers, trial, block, attempt
        Which trial: `stage` is the entry of the suite, `workers` the number of ranks N.
    complete, valid : bool
        Whether every rank measured; and whether the trial counts, which one that was tried again
        does not, unless asked for.
    error : str
        Of the first rank that failed.
    patches_per_s : float
        Effective: patches of all ranks in step with each other, over the longest time of a rank.
        With one rank its rate.
    inferred_per_s, aggregate_per_s : float
        N times the rate of the slowest rank, and the sum of the rates of all ranks, each of them
        without waiting for others.
    slowest_rank, slowest_per_s, straggling
        The rank that was slowest without waiting for others, its rate, and how much less than
        the median of the ranks' rates that is, from 0 to 1.
    wait_p50_s, wait_p95_s, wait_p99_s : float
        How long a batch was waited for without waiting for others: that of the rank where it is
        longest.
    step_p50_s, step_p95_s, step_p99_s : float
        How long a step took in which all ranks met; of the rank where it is longest.
    node_pss_bytes, node_rss_bytes : int
        Memory of all ranks and loader processes of the node that needs most: with shared pages
        counted in parts, and in each process.
    cores, busiest : int, float
        Cores for the ranks on all nodes, and the largest quotient on a node of loader processes
        and ranks by its cores.
    read_bytes_per_patch, storage_read_bytes_per_patch, storage_bytes_per_s, cpu_s_per_patch
        What was asked of the kernel and fetched from block devices for a patch, what all ranks
        together fetched in a second, and processor time; without waiting for others.
    copy_s_per_batch : float
        Mean time of a copy to the device; of the rank where it is longest.
    slides_per_batch, distance_px, effective_slides, diversity_patches
        Of the batches of all ranks as one: slides in the step's batches; mean distance of patches
        of one slide, as mean over ranks; slides of equal share that would be as diverse; and how
        many patches that is known from. Ranks are given slides of their own.
    checksum : str
        Of what all ranks delivered, in their order.
    consumed_per_s, consumer
        Patches that training takes in a second on all ranks together, and how that is known.
    cache_asked, cache_state, oversubscribed, disturbed, hardware
        As recorded; of several states the one of which least was proved. `oversubscribed` says
        that workers shared cores or that a node had fewer cores than processes.
    """
    import polars as pl

    text, whole, real, flag = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()
    return {
        "stage": text,
        "workers": whole,
        "trial": text,
        "block": whole,
        "attempt": whole,
        "complete": flag,
        "valid": flag,
        "error": text,
        "patches_per_s": real,
        "inferred_per_s": real,
        "aggregate_per_s": real,
        "slowest_rank": whole,
        "slowest_per_s": real,
        "straggling": real,
        "wait_p50_s": real,
        "wait_p95_s": real,
        "wait_p99_s": real,
        "step_p50_s": real,
        "step_p95_s": real,
        "step_p99_s": real,
        "node_pss_bytes": whole,
        "node_rss_bytes": whole,
        "cores": whole,
        "busiest": real,
        "read_bytes_per_patch": real,
        "storage_read_bytes_per_patch": real,
        "storage_bytes_per_s": real,
        "cpu_s_per_patch": real,
        "copy_s_per_batch": real,
        "slides_per_batch": real,
        "distance_px": real,
        "effective_slides": real,
        "diversity_patches": whole,
        "checksum": text,
        "consumed_per_s": real,
        "consumer": text,
        "cache_asked": text,
        "cache_state": text,
        "oversubscribed": flag,
        "disturbed": flag,
        "hardware": pl.List(text),
    }


def point_schema() -> dict[str, Any]:
    """Columns of `pyscale.analysis.loader.points.loader_points`, one row an entry at one N.

    stage, family, workers
        Which configuration: the entry of the suite, that with the grid it is a point of, and N.
    repeats, failed, error
        Trials that count, trials that failed, and the first error.
    factory, …, tissue
        Parameters of the stage, as `pyscale_stages.loader.params.LoaderParams` describes them.
    loader_processes, cores, oversubscribed, cache_state
        Loader processes of all ranks; cores for all of them, the fewest of any trial; whether
        processes had to share cores; and the state of the page cache of which least was proved.
    patches_per_s, inferred_per_s, aggregate_per_s : float
        Medians over trials (see `trial_schema`). With `_low` and `_high` the ends of a 95 %
        interval of that median, null below six trials.
    effective_over_inferred : float
        Quotient of the two, with the ends of its interval; null with one rank, where both are one.
    slowest_per_s, slowest_rank, straggling
        Median over trials; the rank that was slowest in most; and the share in the middle trial
        by `patches_per_s` (of two middle ones the slower).
    wait_…, step_…, …_per_patch, storage_bytes_per_s, copy_s_per_batch, slides_per_batch, \
distance_px, effective_slides, diversity_patches, consumed_per_s
        Medians over trials.
    pss_bytes, rss_bytes : int
        The most memory of a node in any trial.
    on_front, keeps_diversity : bool
        Whether no other point that is comparable is at least as fast and as diverse and better in
        one of both; and whether it has the asked share of the most diverse one's effective
        slides. Null where no speed or diversity is known. Points are comparable that have the
        same N, `patch_px` and `mpp`.
    checksum : str
        The same in all trials; "differs" where it is not.
    consumer, feeds : str
        How it is known what training takes; and whether that is fed: "yes" or "no" where the
        interval of `patches_per_s` leaves no doubt, else "not sure"; null where nothing is known.
    flags : str
        Doubts with commas between; see `pyscale.analysis.loader.flags.SENTENCES`.
    """
    import polars as pl

    text, whole, real, flag = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()
    return {
        "stage": text,
        "family": text,
        "workers": whole,
        "repeats": whole,
        "failed": whole,
        "error": text,
        **setting_columns(),
        "loader_processes": whole,
        "cores": whole,
        "oversubscribed": flag,
        "cache_state": text,
        "patches_per_s": real,
        "patches_per_s_low": real,
        "patches_per_s_high": real,
        "inferred_per_s": real,
        "inferred_per_s_low": real,
        "inferred_per_s_high": real,
        "aggregate_per_s": real,
        "aggregate_per_s_low": real,
        "aggregate_per_s_high": real,
        "effective_over_inferred": real,
        "effective_over_inferred_low": real,
        "effective_over_inferred_high": real,
        "slowest_per_s": real,
        "slowest_rank": whole,
        "straggling": real,
        "wait_p50_s": real,
        "wait_p95_s": real,
        "wait_p99_s": real,
        "step_p50_s": real,
        "step_p95_s": real,
        "step_p99_s": real,
        "pss_bytes": whole,
        "rss_bytes": whole,
        "read_bytes_per_patch": real,
        "storage_read_bytes_per_patch": real,
        "storage_bytes_per_s": real,
        "cpu_s_per_patch": real,
        "copy_s_per_batch": real,
        "slides_per_batch": real,
        "distance_px": real,
        "effective_slides": real,
        "diversity_patches": whole,
        "on_front": flag,
        "keeps_diversity": flag,
        "checksum": text,
        "consumed_per_s": real,
        "consumer": text,
        "feeds": text,
        "flags": text,
    }


def rank_schema() -> dict[str, Any]:
    """Columns of `pyscale.analysis.loader.ranks.loader_ranks`, one row a rank of a configuration.

    stage, workers, rank, node
        Which rank, and the node it ran on; several with commas between.
    repeats : int
        Trials that count.
    patches_per_s, wait_p50_s, wait_p95_s, wait_p99_s : float
        Its rate and how long a batch was waited for, without waiting for other ranks: medians
        over trials.
    pss_bytes : int
        Most memory of it and its loader processes in any trial, shared pages in parts.
    slides : int
        Slides of this rank.
    """
    import polars as pl

    text, whole, real = pl.String(), pl.Int64(), pl.Float64()
    return {
        "stage": text,
        "workers": whole,
        "rank": whole,
        "node": text,
        "repeats": whole,
        "patches_per_s": real,
        "wait_p50_s": real,
        "wait_p95_s": real,
        "wait_p99_s": real,
        "pss_bytes": whole,
        "slides": whole,
    }

"""What ranks measured in iterations is taken together as the slowest rank makes it."""

import polars as pl
import pytest

from madeupreconstruct import ENTRIES, GIB, Entry, reconstruction
from pyscale.analysis.ranks.reconstruct import reconstruct_trials
from pyscale_stages.reconstruction import COMPONENTS

DEBLUR = ENTRIES[0]


def only(table, **options):
    """The only trial of a table."""
    trials = reconstruct_trials(table, **options)
    assert trials.height == 1
    return trials.row(0, named=True)


def of_ranks(count, entry=DEBLUR, **options):
    """One trial of so many ranks."""
    return reconstruction([entry], ranks=(count,), repeats=1, **options)


def test_the_slowest_rank_makes_the_time_and_all_others_wait_for_it():
    row = only(of_ranks(4, slowest=1.5))
    own_s = 0.8 * 1.5625 / 4
    assert row["denoiser_s"] == pytest.approx(1.5 * own_s)
    assert row["denoiser_mean_s"] == pytest.approx(own_s * 4.5 / 4)
    assert row["barrier_s"] == pytest.approx(0.5 * own_s)
    assert row["barrier_mean_s"] == pytest.approx(0.5 * own_s * 3 / 4)
    busy = [0.05 + own_s] * 3 + [0.05 + 1.5 * own_s]
    assert row["balance"] == pytest.approx(sum(busy) / 4 / max(busy))
    # Means over ranks add up to the iteration, but for the rest; those of slowest ranks do not.
    means = sum(row[f"{name}_mean_s"] for name in COMPONENTS)
    assert means == pytest.approx(row["wall_mean_s"] * (1 - DEBLUR.rest))


def test_the_slowest_rank_is_found_anew_in_each_iteration():
    # Of four iterations each rank is the slow one in two, so that its own median is between.
    table = of_ranks(2, iterations=4).with_columns(
        gradient_s=pl.when(pl.col("rank") == pl.col("iteration") % 2).then(0.4).otherwise(0.1)
    )
    row = only(table)
    assert (row["gradient_s"], row["gradient_mean_s"]) == (0.4, pytest.approx(0.25))


def test_one_wild_iteration_moves_no_time_and_counts_in_shares_by_its_length():
    usual = only(of_ranks(2, iterations=5))
    wild = pl.when(pl.col("iteration") == 4).then(10.0).otherwise(0.0)
    row = only(
        of_ranks(2, iterations=5).with_columns(
            barrier_s=pl.col("barrier_s") + wild, wall_s=pl.col("wall_s") + wild
        )
    )
    for name in ("wall_s", "wall_mean_s", "barrier_s", "barrier_mean_s"):
        assert row[name] == pytest.approx(usual[name])
    assert row["barrier_share"] == pytest.approx(2 * 10 / (usual["ranks_s"] + 2 * 10))


def test_setup_is_that_of_the_slowest_rank_and_what_only_one_rank_has_too_much_of_is_told():
    tiles = pl.when(pl.col("rank") == 0).then(5).otherwise(4)
    row = only(of_ranks(2).with_columns(tiles_here=tiles))
    assert row["tiles_balance"] == pytest.approx(4.5 / 5)
    assert only(of_ranks(4))["setup_s"] == pytest.approx(1.8)
    # What is counted twice is as wrong as what is not: the second rank has more in components
    # than there is.
    more = pl.when(pl.col("rank") == 1).then(1.1).otherwise(1.0)
    row = only(of_ranks(2).with_columns(denoiser_s=pl.col("denoiser_s") * more))
    assert row["rest_share"] == pytest.approx(0.1 * 0.625 / row["wall_s"] - 0.002)


def test_memory_is_that_of_the_rank_that_needs_most_and_of_the_one_that_has_least():
    apart = {
        name: pl.when(pl.col("rank") == 1).then(value * GIB).otherwise(pl.col(name))
        for name, value in {"memory_peak_bytes": 30, "memory_total_bytes": 36}.items()
    }
    row = only(of_ranks(2).with_columns(**apart))
    assert (row["memory_peak_bytes"], row["memory_total_bytes"]) == (30 * GIB, 36 * GIB)
    unknown = pl.when(pl.col("rank") == 1).then("memory_peak_bytes").alias("memory_peak_bytes")
    assert only(of_ranks(2).with_columns(unknown))["memory_peak_bytes"] is None


def test_a_trial_of_which_one_rank_failed_or_is_missing_has_no_time():
    killed = "rank 1 on node1 was killed"
    failed = of_ranks(2, Entry("killed", error=killed))
    done = of_ranks(2, Entry("killed"))
    # A rank that is done and has no iteration told nothing.
    silent = done.with_columns(iteration=pl.when(pl.col("rank") == 0).then(pl.col("iteration")))
    for table, error in (
        (pl.concat([done.filter(rank=0), failed.filter(rank=1)]), killed),
        (done.filter(rank=0), None),
        (silent, None),
        # The error is of the rank whose memory ran out, and not of those it left.
        (of_ranks(4, Entry("big", fits_from=8), nodes=2), "memory ran out on rank 3 on node2"),
    ):
        row = only(table)
        assert (row["complete"], row["valid"], row["error"]) == (False, False, error)
        assert row["exhausted"] is ("memory" in str(error))
        names = ("wall_s", "balance", "ranks_s", "gradient_share")
        assert [row[name] for name in names] == [None] * 4


def test_a_trial_that_was_tried_again_counts_if_that_is_asked_for():
    table = of_ranks(2).with_columns(attempt=pl.when(pl.col("rank") == 1).then(2).otherwise(1))
    row = only(table)
    assert (row["complete"], row["valid"], row["attempt"]) == (True, False, 2)
    assert only(table, count_retried=True)["valid"] is True

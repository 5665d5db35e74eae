"""Each component is compared with itself on the fewest ranks that gave a result."""

import math

import polars as pl
import pytest

from madeupreconstruct import ENTRIES, Entry, reconstruction
from pyscale.analysis.ranks.reconstruct import knees, reconstruct_findings

DEBLUR = ENTRIES[0]


def scale(*entries, **options):
    """What follows from the trials of these entries."""
    return scaling_of(reconstruction(entries or ENTRIES, **options))


def scaling_of(table, **options):
    """What follows from a table."""
    found = reconstruct_findings(table, **options)
    return found.scaling


@pytest.fixture(scope="module")
def scaling():
    """Of all entries that were made up."""
    return scale()


def one(scaling, **of):
    """The only row with these values."""
    return scaling.filter(**of).row(0, named=True)


def speedups(scaling, stage, component):
    """Over rising N."""
    return scaling.filter(stage=stage, component=component)["speedup"].to_list()


def test_nothing_is_so_many_times_faster_than_what_one_rank_does_not_do(scaling):
    for component in ("communication", "gather", "barrier"):
        assert speedups(scaling, "deblur_256", component) == [None] * 4
    # Over two ranks there is a speedup, which is a loss: 1, 3 and 7 times as much is exchanged.
    expected = [None, 1, 1 / 3, 1 / 7]
    assert speedups(scaling, "deblur_512", "communication") == pytest.approx(expected)
    # Two ranks that wait for nobody give none either, nor does a microsecond of one rank.
    assert speedups(scaling, "deblur_512", "barrier") == [None] * 4
    table = reconstruction([DEBLUR]).with_columns(communication_s=pl.col("communication_s") + 1e-6)
    assert speedups(scaling_of(table), "deblur_256", "communication") == [None] * 4


def test_no_number_is_infinite_or_none_at_all(scaling):
    uneven = scale(slowest=2.0, scatter=0.3, repeats=7)
    # Waiting that is nothing in some trials and something in others has no quotient by resampling.
    now_and_then = reconstruction([Entry("apart", fits_from=2)], slowest=1.2).with_columns(
        barrier_s=pl.when(pl.col("block") < 3).then(0.0).otherwise("barrier_s")
    )
    patchy = scaling_of(now_and_then)
    row = one(patchy, component="barrier", workers=4)
    assert row["speedup"] is not None
    assert row["speedup_low"] is None
    for table in (scaling, uneven, patchy):
        for name in table.select(pl.col(pl.Float64)).columns:
            assert all(map(math.isfinite, table[name].drop_nulls())), name


def test_six_trials_give_intervals_about_the_median_and_fewer_give_none():
    several = one(scale(DEBLUR, ranks=(1, 2)), component="total", workers=2)
    assert several["seconds_low"] < several["seconds"] < several["seconds_high"]
    assert several["speedup_low"] < several["speedup"] < several["speedup_high"]
    assert several["efficiency_high"] == pytest.approx(several["speedup_high"] / 2)
    for repeats in (1, 5):
        few = one(scale(DEBLUR, ranks=(1, 2), repeats=repeats), component="total", workers=2)
        assert few["speedup"] == pytest.approx(several["speedup"])
        assert (few["seconds_low"], few["speedup_low"], few["efficiency_low"]) == (None,) * 3
        assert few["flags"] == "few-repeats,other-work"


def test_drift_that_all_trials_of_a_block_share_cancels_in_the_speedup():
    table = reconstruction([DEBLUR], ranks=(1, 2), scatter=0.0)
    drift = 1 + pl.col("block") / 10
    drifting = table.with_columns(pl.col("wall_s", "denoiser_s") * drift)
    row = one(scaling_of(drifting), component="total", workers=2)
    assert row["seconds_high"] > 1.2 * row["seconds_low"]
    assert row["speedup_high"] == pytest.approx(row["speedup_low"])


def test_trials_that_were_tried_again_are_left_out_unless_asked_for():
    table = reconstruction([DEBLUR], ranks=(1, 2)).with_columns(
        attempt=pl.when((pl.col("workers") == 2) & (pl.col("block") == 1)).then(2).otherwise(1)
    )
    row = one(scaling_of(table), component="total", workers=2)
    assert (row["repeats"], row["seconds_low"]) == (5, None)
    assert row["flags"] == "few-repeats,other-work,retried"
    counted = scaling_of(table, count_retried=True)
    row = one(counted, component="total", workers=2)
    assert (row["repeats"], row["flags"]) == (6, "other-work,retried-counted")


def test_a_baseline_of_which_all_trials_were_tried_again_is_none():
    table = reconstruction([DEBLUR], ranks=(1, 2, 4)).with_columns(
        attempt=pl.when(pl.col("workers") == 1).then(2).otherwise(1)
    )
    row = one(scaling_of(table), component="total", workers=4)
    assert row["baseline_workers"] == 2
    assert row["efficiency"] == pytest.approx(row["speedup"] * 2 / 4)
    assert "baseline-moved" in row["flags"].split(",")


def test_an_entry_of_which_nothing_ran_has_rows_without_times():
    found = scale(Entry("never", fits_from=99), DEBLUR)
    never = found.filter(stage="never")
    assert never.height == 4 * 7
    assert never["seconds"].null_count() == never["baseline_workers"].null_count() == never.height
    assert found.filter(stage="deblur_256", component="total")["speedup"].null_count() == 0


def test_what_limits_is_told_with_its_share_of_all_losses_and_is_never_the_objective():
    entry = Entry("slow", communication_s=2.0, objective_s=90.0)
    table = reconstruction([entry], ranks=(1, 2), repeats=1)
    (answer,) = knees(scaling_of(table))
    assert (answer.limit["component"], answer.limit["workers"]) == ("communication", 2)
    assert answer.limit["loss_s"] == pytest.approx(2.0)
    gradient_s, denoiser_s, gather_s = 0.05 / 2, 0.8 * (1.5625 - 1) / 2, 0.002
    every_loss_s = 2.0 + gradient_s + denoiser_s + gather_s
    assert answer.limit_share == pytest.approx(2.0 / every_loss_s)
    assert answer.margin_loss_s == pytest.approx(denoiser_s)

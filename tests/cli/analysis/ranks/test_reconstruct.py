"""The findings say what each configuration is worth, what fits, and how many ranks to ask for."""

import math

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from madeupreconstruct import ENTRIES, GIB, Entry, reconstruction
from pyscale.analysis.flags import SENTENCES
from pyscale.analysis.ranks.reconstruct import (
    knees,
    reconstruct_findings,
    reconstruct_points,
    reconstruct_trials,
)
from pyscale.store.rows import reconstruction_schema
from pyscale_stages.reconstruction import COMPONENTS, DENOISER_TOLERANCE, GRADIENT_TOLERANCE

DEBLUR = ENTRIES[0]


def find(table):
    """What is found of this table."""
    found = reconstruct_findings(table)
    assert found is not None
    return found


def of(*entries, **options):
    """What is found of these entries."""
    return find(reconstruction(entries, **{"repeats": 1} | options))


@pytest.fixture(scope="module")
def findings():
    """Of all entries that were made up."""
    return find(reconstruction())


def point(found, **which):
    """The only point with these values."""
    rows = found.points.filter(**which)
    assert rows.height == 1
    return rows.row(0, named=True)


def test_beyond_the_knee_more_ranks_are_faster_and_not_advised():
    (answer,) = of(Entry("knee", denoiser_s=3.2, communication_s=0.07)).knees
    row, following = answer.row, answer.following
    assert (row["workers"], following["workers"]) == (4, 8)
    assert following["speedup"] > row["speedup"]
    worth = [one["speedup"] * one["efficiency"] for one in (following, row)]
    assert worth[0] < worth[1]


def test_where_no_more_ranks_help_the_answer_says_what_the_next_would_lose():
    (answer,) = of(Entry("slow", communication_s=2.0)).knees
    assert (answer.row["workers"], answer.row["speedup"]) == (1, 1)
    assert answer.following["workers"] == answer.limited["workers"] == 2
    assert answer.limit["component"] == "communication"
    (answer,) = of(DEBLUR, ranks=(2,)).knees
    assert (answer.row["workers"], answer.following, answer.limit) == (2, None, None)
    # An entry of which nothing ran has no answer.
    found = of(Entry("never", fits_from=9), DEBLUR)
    assert [answer.row["stage"] for answer in found.knees] == ["deblur_256"]


def test_more_ranks_that_are_slower_are_not_advised():
    # Efficient enough by its baseline of 8, but slower than with fewer.
    table = reconstruction([DEBLUR], ranks=(8, 9), repeats=1, scatter=0.0)
    slower = pl.when(pl.col("workers") == 9).then(pl.col("wall_s") * 1.3).otherwise("wall_s")
    (answer,) = find(table.with_columns(wall_s=slower)).knees
    assert (answer.row["workers"], answer.following["workers"]) == (8, 9)
    assert answer.following["efficiency"] > 0.5


def test_balance_is_that_of_the_slower_of_two_middle_trials():
    even, uneven = (
        reconstruction([DEBLUR], ranks=(4,), repeats=1, slowest=slowest) for slowest in (1.0, 2.0)
    )
    second = uneven.with_columns(trial=pl.lit("second"), block=pl.lit(2, pl.Int64))
    slower = point(find(uneven))["balance"]
    assert point(find(pl.concat([even, second])))["balance"] == pytest.approx(slower)
    assert slower < 0.8


@pytest.mark.parametrize(
    ("changes", "gate", "code"),
    [
        ({}, "agrees", ""),
        ({"gate_gradient": GRADIENT_TOLERANCE}, "agrees", ""),
        ({"gate_interior": DENOISER_TOLERANCE}, "agrees", ""),
        ({"gate_gradient": 2e-5}, "differs", "disagrees"),
        ({"gate_interior": 2e-6}, "differs", "disagrees"),
        ({"gate_gradient": float("nan")}, "differs", "disagrees"),
        ({"gate_interior": float("nan")}, "differs", "disagrees"),
        ({"gate_border": 0.5}, "agrees", ""),
        ({"gate_interior": None, "gate_interior_px": 0}, "agrees", ""),
        ({"gate_interior": None, "gate_why_not": "memory"}, "not compared", "not-compared"),
        ({"gate_gradient": None}, "not compared", "not-compared"),
    ],
)
@pytest.mark.parametrize("trials", [(1, 2, 3, 4, 5, 6), (2,)])
def test_the_worst_trial_decides_the_gate_by_the_tolerances_of_the_stage(
    changes, gate, code, trials
):
    schema, of_these = reconstruction_schema(), pl.when(pl.col("block").is_in(trials))
    told = {
        name: of_these.then(pl.lit(value, schema[name])).otherwise(name)
        for name, value in changes.items()
    }
    row = point(find(reconstruction([DEBLUR], ranks=(2,)).with_columns(**told)))
    assert (row["gate"], row["flags"]) == (gate, code)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"oversubscribed": pl.lit(True)}, "oversubscribed"),
        ({"disturbed": pl.lit(True)}, "disturbed"),
        ({"hardware": pl.col("hardware") + pl.col("workers").cast(pl.String)}, "mixed-hardware"),
        ({"wall_s": pl.col("wall_s") * 1.02}, "rest"),
        ({"wall_s": pl.col("wall_s") * 0.98}, "rest"),
        ({"wall_s": pl.col("wall_s") * pl.col("block")}, "unstable"),
    ],
)
def test_doubts_are_flagged(changes, code):
    found = find(reconstruction([DEBLUR], ranks=(1, 2)).with_columns(**changes))
    flags = point(found, workers=2)["flags"].split(",")
    assert code in flags
    assert set(flags) <= set(SENTENCES)
    total = found.scaling.filter(component="total", workers=2)
    assert total["flags"].item() == ",".join(flags)


def test_a_component_is_unstable_by_its_own_times():
    wild = pl.col("communication_s") * pl.col("block")
    table = reconstruction([DEBLUR], ranks=(2,)).with_columns(communication_s=wild)
    found = find(table).scaling
    unstable = found.filter(pl.col("flags").str.contains("unstable"))
    assert unstable["component"].to_list() == ["communication"]


def test_order_of_rows_changes_nothing_but_the_order_of_entries(findings):
    shuffled = find(reconstruction().sample(fraction=1.0, shuffle=True, seed=3))
    by = ["stage", "workers", "component"]
    assert_frame_equal(shuffled.scaling.sort(by), findings.scaling.sort(by))
    assert_frame_equal(shuffled.points.sort(by[:2]), findings.points.sort(by[:2]))
    # A run that reconstructed nothing has no findings.
    assert reconstruct_findings(pl.DataFrame(schema=reconstruction_schema())) is None


def of_second_trial(**values):
    """What two ranks tell in one trial alone."""
    second = (pl.col("workers") == 2) & (pl.col("block") == 2)
    return {
        name: pl.when(second).then(value).otherwise(pl.col(name)) for name, value in values.items()
    }


def two_ranks(**values):
    """The point of two ranks, of six trials that are alike but for these values."""
    table = reconstruction([DEBLUR], ranks=(1, 2), scatter=0.0).with_columns(**values)
    points = reconstruct_points(reconstruct_trials(table))
    return points.filter(workers=2).row(0, named=True)


def test_one_wild_trial_moves_neither_time_nor_quality():
    expected = two_ranks()
    told = ("wall_s", "setup_s", "psnr_db", "psnr_drift_db")
    wild = of_second_trial(wall_s=pl.col("wall_s") * 5, setup_s=60.0, psnr_db=45.0)
    found = two_ranks(**wild)
    assert [found[name] for name in told] == pytest.approx([expected[name] for name in told])


def test_the_worst_trial_is_told_of_memory_deviations_and_the_gate():
    for worse in (
        {"memory_peak_bytes": 33 * GIB, "memory_total_bytes": 36 * GIB},
        {"deviation_interior": 0.1, "deviation_border": 0.5},
        {"gate_gradient": 1e-3, "gate": "differs"},
        {"gate_border": 0.9, "gate_interior_px": 7, "gate_why_not": "memory ran out"},
    ):
        told = {name: pl.lit(it) for name, it in worse.items() if name != "gate"}
        found = two_ranks(**of_second_trial(**told))
        assert {name: found[name] for name in worse} == worse
    more = two_ranks(**of_second_trial(gradient_s=pl.col("gradient_s") - 0.1 * pl.col("wall_s")))
    assert more["rest_share"] == pytest.approx(0.1 + DEBLUR.rest)


def test_a_trial_that_takes_longer_counts_for_more_in_a_share():
    usual, waited_s = two_ranks()["wall_s"], 10.0
    longer = of_second_trial(
        barrier_s=pl.col("barrier_s") + waited_s, wall_s=pl.col("wall_s") + waited_s
    )
    share = two_ranks(**longer)["barrier_share"]
    assert share == pytest.approx(waited_s / (6 * usual + waited_s), rel=1e-3)


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


def test_drift_that_all_trials_of_a_block_share_cancels_in_the_speedup():
    table = reconstruction([DEBLUR], ranks=(1, 2), scatter=0.0)
    drift = 1 + pl.col("block") / 10
    drifting = table.with_columns(pl.col("wall_s", "denoiser_s") * drift)
    row = one(scaling_of(drifting), component="total", workers=2)
    assert row["seconds_high"] > 1.2 * row["seconds_low"]
    assert row["speedup_high"] == pytest.approx(row["speedup_low"])


def test_trials_that_were_tried_again_are_left_out():
    table = reconstruction([DEBLUR], ranks=(1, 2)).with_columns(
        attempt=pl.when((pl.col("workers") == 2) & (pl.col("block") == 1)).then(2).otherwise(1)
    )
    row = one(scaling_of(table), component="total", workers=2)
    assert (row["repeats"], row["seconds_low"]) == (5, None)
    assert row["flags"] == "few-repeats,other-work,retried"


def test_a_baseline_of_which_all_trials_were_tried_again_is_none():
    table = reconstruction([DEBLUR], ranks=(1, 2, 4)).with_columns(
        attempt=pl.when(pl.col("workers") == 1).then(2).otherwise(1)
    )
    row = one(scaling_of(table), component="total", workers=4)
    assert row["baseline_workers"] == 2
    assert row["efficiency"] == pytest.approx(row["speedup"] * 2 / 4)
    assert "baseline-moved" in row["flags"].split(",")


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

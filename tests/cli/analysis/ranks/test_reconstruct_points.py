"""One row a configuration: the middle of its trials for times, and the worst for what may fail."""

import polars as pl
import pytest

from madeupreconstruct import ENTRIES, GIB, reconstruction
from pyscale.analysis.ranks.reconstruct import reconstruct_points, reconstruct_trials

DEBLUR = ENTRIES[0]


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

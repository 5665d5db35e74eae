import numpy as np
import polars as pl
import pytest

from pyscale.analysis.doubts import drifting

COUNTS = (1, 2, 4, 8)


def run(*, blocks=6, noise=0.01, shared=0.0, drift=0.0, first=0.0, seed=0, stage="segment"):
    """Blocks in random order; `shared` is noise that all trials of a block have in common, and
    `drift` is added from the first trial to the last."""
    rng = np.random.default_rng(seed)
    last = blocks * len(COUNTS) - 1
    rows = []
    for block in range(blocks):
        level = rng.lognormal(0, shared)
        for count in rng.permutation(COUNTS):
            grown = (1 + drift * len(rows) / last) * (1 + first * (block == 0))
            rows.append(
                {
                    "suite": "demo",
                    "stage": stage,
                    "device": None,
                    "workers": int(count),
                    "block": block,
                    "position": len(rows),
                    "valid": True,
                    "wall_s": float(100 / count * level * grown * rng.lognormal(0, noise)),
                }
            )
    return pl.DataFrame(rows, schema_overrides={"device": pl.String})


@pytest.mark.parametrize(
    ("how", "drifts"),
    [
        ({"drift": 0.15}, True),
        ({"drift": -0.2}, True),
        # Too small to matter.
        ({"drift": 0.02, "noise": 0.001}, False),
        # A slow first round is no drift, and hides none.
        ({"first": 0.3}, False),
        ({"first": 0.3, "drift": -0.2}, True),
    ],
)
def test_drift_is_told_where_it_matters(how, drifts):
    assert bool(drifting(run(**how))) == drifts


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        {"noise": 0.1},
        # What the trials of a block share is no drift.
        *({"blocks": blocks, "noise": 0.02, "shared": 0.08} for blocks in (6, 10)),
    ],
)
def test_drift_is_said_of_few_curves_without_any(how):
    assert sum(bool(drifting(run(**how, seed=seed))) for seed in range(200)) <= 0.08 * 200


@pytest.mark.slow
def test_a_drift_that_is_there_is_found():
    assert sum(bool(drifting(run(noise=0.03, drift=0.15, seed=seed))) for seed in range(100)) >= 95
    assert all(drifting(run(noise=0.03, drift=0.2, seed=seed)) for seed in range(100))


def test_every_curve_of_enough_blocks_is_looked_at_by_itself():
    assert drifting(run(blocks=2, drift=0.3)) == set()
    assert len(drifting(run(blocks=4, drift=0.3))) == 1
    # A point of a grid is a curve of one configuration, and a grid has many.
    assert drifting(run(blocks=6, drift=0.3).filter(pl.col("workers") == 1)) == set()
    both = pl.concat([run(drift=0.3, stage="b"), run(stage="a")])
    assert drifting(both) == {("demo", "b", None)}
    # Times without any noise have no drift.
    assert drifting(run(noise=0)) == set()


def test_blocks_about_one_moment_have_no_drift():
    """A table whose repeats of N = 1 came in order, and then those of N = 2 in reverse."""
    first_round, second_round = pl.col("block") + 1, 12 - pl.col("block")
    moved = (
        run()
        .filter(pl.col("workers") <= 2)
        .with_columns(
            position=pl.when(pl.col("block") == 0)
            .then(pl.col("workers") - 1)
            .when(pl.col("workers") == 1)
            .then(first_round)
            .otherwise(second_round)
        )
    )
    assert drifting(moved) == set()


def test_trials_that_do_not_count_change_nothing():
    trials = run(drift=0.2)
    assert drifting(trials)
    lost = trials.with_columns(
        wall_s=pl.lit(None, dtype=pl.Float64),
        valid=pl.lit(value=False),
        position=pl.col("position") + 100,
    )
    assert drifting(pl.concat([trials, lost])) == drifting(trials)

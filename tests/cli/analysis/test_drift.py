import numpy as np
import polars as pl
import pytest

from pyscale.analysis.drift import SIZE, drifts

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


def test_a_run_that_slows_down_drifts_by_so_much():
    (found,) = drifts(run(drift=0.15))
    assert found.drifts
    # Relative to the median, which lies in the middle of the run.
    assert found.change == pytest.approx(0.15 / 1.075, rel=0.15)
    assert found.interval.low < 0.15 / 1.075 < found.interval.high
    assert not found.first_differs
    (sentence,) = found.sentences()
    assert sentence.startswith("Wall times rose by 1")
    assert "24 trials in 6 blocks" in sentence


@pytest.mark.parametrize(
    ("how", "drifting", "first", "said"),
    [
        ({"drift": -0.2}, True, False, ["Wall times fell by 2"]),
        # Too small to matter: measured, but not said.
        ({"drift": 0.02, "noise": 0.001}, False, False, []),
        # A slow first round is no drift.
        ({"first": 0.3}, False, True, ["The first trial of each configuration took 3"]),
        ({"first": 0.3, "drift": -0.2}, True, True, ["Wall times fell by", "The first trial"]),
    ],
)
def test_drift_and_a_first_round_are_told_apart_where_they_matter(how, drifting, first, said):
    (found,) = drifts(run(**how))
    assert (found.drifts, found.first_differs) == (drifting, first)
    for sentence, beginning in zip(found.sentences(), said, strict=True):
        assert sentence.startswith(beginning)
    if how.get("drift") == -0.2:
        assert found.change < 0
    if how.get("drift") == 0.02:
        assert found.interval.low > 0
        assert found.change < SIZE
    if first:
        assert found.first_change > 0.2
        assert "% longer than its later ones" in found.sentences()[-1]
    if how == {"first": 0.3}:
        assert found.first_change == pytest.approx(0.3, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        {"noise": 0.1},
        # What the trials of a block share is neither drift nor a first trial.
        *({"blocks": blocks, "noise": 0.02, "shared": 0.08} for blocks in (6, 10)),
    ],
)
def test_drift_is_said_of_few_curves_without_any(how):
    said = [drifts(run(**how, seed=seed))[0] for seed in range(200)]
    assert sum(one.drifts for one in said) <= 0.08 * 200
    assert sum(one.first_differs for one in said) <= 0.05 * 200


@pytest.mark.slow
def test_a_drift_that_is_there_is_found():
    found = [drifts(run(noise=0.03, drift=0.15, seed=seed))[0].drifts for seed in range(100)]
    assert sum(found) >= 97
    assert all(drifts(run(noise=0.03, drift=0.2, seed=seed))[0].drifts for seed in range(100))


def test_a_warm_up_is_found_beside_what_blocks_share():
    said = [drifts(run(noise=0.02, shared=0.02, first=0.3, seed=seed))[0] for seed in range(100)]
    assert sum(one.first_differs for one in said) >= 97


def test_every_curve_of_enough_blocks_is_looked_at_by_itself():
    assert drifts(run(blocks=3)) == []
    assert len(drifts(run(blocks=4))) == 1
    # A point of a grid is a curve of one configuration, and a grid has many.
    assert drifts(run(blocks=6).filter(pl.col("workers") == 1)) == []
    both = pl.concat([run(drift=0.3, stage="b"), run(stage="a")])
    assert [(one.stage, one.drifts) for one in drifts(both)] == [("b", True), ("a", False)]
    # Times without any noise have no drift.
    (found,) = drifts(run(noise=0))
    assert (found.change, found.first_change, found.sentences()) == (0, 0, [])


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
    assert drifts(moved) == []


def test_trials_that_do_not_count_change_nothing():
    trials = run(drift=0.1)
    lost = trials.with_columns(
        wall_s=pl.lit(None, dtype=pl.Float64),
        valid=pl.lit(value=False),
        position=pl.col("position") + 100,
    )
    assert drifts(pl.concat([trials, lost])) == drifts(trials)

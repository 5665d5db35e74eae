"""Times of tables: rounded to a step, and timed one N after the other."""

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from pyscale.analysis.advice import Aim, choices
from pyscale.analysis.comparison import comparison
from pyscale.analysis.doubts import (
    drifting,
    first_stands_apart,
    flag_codes,
    is_unstable,
    rounded_to,
)
from pyscale.analysis.flags import FLAGS, flags_of_trials, raised
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.evaluation.results import analysed
from pyscale.report.context import ReportContext

STEADY = [100.0, 101, 99, 100.5, 99.5, 100.2]
TURNS = [10.0 * window for window in range(6)]


def flags_of(builder, workers=1, base_workers=1):
    table = builder.trials
    own = table.filter(pl.col("workers") == workers)
    return flag_codes(own, table.filter(pl.col("workers") == base_workers))


def repeated(new_run, walls=STEADY, **every_trial):
    return new_run().curve("track", lambda _, block: walls[block], (1,), len(walls), **every_trial)


def test_each_flag_has_a_code_and_one_sentence():
    for code, flag in FLAGS.items():
        assert code == code.lower().replace(" ", "-")
        assert flag.sentence.endswith(".")
        assert flag.sentence.count(". ") == 0
        assert len(flag.short) <= 45
    for unique in ("short", "sentence"):
        assert len({getattr(flag, unique) for flag in FLAGS.values()}) == len(FLAGS)


def test_flags_are_raised_in_the_order_of_the_list_and_from_it_alone():
    assert raised({"drift": True, "unstable": True, "retried": False}) == ["unstable", "drift"]
    with pytest.raises(KeyError, match="not in the list of flags: wobbly"):
        raised({"wobbly": True})


@pytest.mark.parametrize(
    ("walls", "unstable"),
    [
        (STEADY, False),
        ([100.0], False),
        ([100.0, 100.0, 101.0], False),  # ties have no scale to be far out on
        ([100.0, 100.0 + 1e-12, 101.0], False),
        ([100.0, 120.0, 90.0, 110.0, 85.0, 100.0], True),  # deviation of 13 %
        ([100.0] * 40 + [155.0], True),  # deviation of 8.5 %, but one 53 % off the mean
        ([100.0] * 40 + [45.0], True),
        ([100.0, 100.1, 99.9, 100.2, 99.8, 104.0], True),  # 27 absolute deviations out
        ([90.0] * 3 + [110.0] * 3, True),  # deviation of 11 %
        ([91.0] * 3 + [109.0] * 3, False),  # of 9.9 %
        ([99.9, 99.9, 99.9, 100.0, 100.1, 100.1, 101.5], True),  # 15 absolute deviations out
        ([99.9, 99.9, 99.9, 100.0, 100.1, 100.1, 101.47], False),  # 14.7
    ],
)
def test_scatter_is_judged_by_the_rules_of_pyperf_and_hyperfine(walls, unstable):
    assert is_unstable(walls) is unstable


@pytest.mark.parametrize(
    ("walls", "apart"),
    [
        ([150.0, 100, 101, 99, 100.5, 99.5], True),
        ([100.0, 150, 101, 99, 100.5, 99.5], False),
        ([150.0, 100, 160, 99, 100.5, 99.5], False),
        ([88.0, 110, 95, 85, 103, 105], False),  # another is farther out
        ([150.0, 100.0], False),
        (STEADY, False),
    ],
)
def test_only_a_first_trial_that_is_alone_stands_apart(walls, apart):
    assert first_stands_apart(walls) is apart


WARM = {"cache_state": "warm"}
AGREES, DIFFERS = {"agreement": 1.0, "same": True}, {"agreement": 0.4, "same": False}


@pytest.mark.parametrize(
    ("every_trial", "codes"),
    [
        ({"walls": STEADY[:5]}, ["few-repeats"]),
        ({"walls": [100.0, 120, 90, 110, 85, 100]}, ["unstable"]),
        # A first trial apart has its own words.
        ({"walls": [150.0, 100, 101, 99, 100.5, 99.5]}, ["first-trial"]),
        (AGREES, []),
        ({"oversubscribed": True}, ["oversubscribed"]),
        ({"check": "failed"}, ["check-failed"]),
        # Where nobody looked nothing is known, which is no reason to doubt a trial.
        ({"disturbed": None}, []),
        # Cold is never claimed without proof.
        ({"cache_state": "verified-cold"}, []),
        ({"cache_state": "evicted-unverified"}, ["evicted-unverified"]),
        ({"cache_state": "asis"}, ["cache-uncontrolled"]),
        ({"cache_state": "unsupported"}, ["cache-uncontrolled"]),
        # Memory is a doubt where nobody asked for it, or it is not known what was asked for.
        (WARM, ["warm-not-cold"]),
        (WARM | {"cache_asked": "warm"}, []),
        (WARM | {"cache_asked": "cold"}, ["warm-not-cold"]),
        (WARM | {"cache_asked": None}, ["warm-not-cold"]),
        ({"cache_state": "unsupported", "cache_asked": "warm"}, ["cache-uncontrolled"]),
    ],
)
def test_what_holds_of_every_trial_is_flagged(new_run, every_trial, codes):
    assert flags_of(repeated(new_run, **every_trial)) == codes


@pytest.mark.parametrize(
    ("others", "one", "codes"),
    [
        ({}, WARM, ["warm-not-cold"]),
        ({}, {"hardware": ["epyc"]}, ["mixed-hardware"]),
        ({}, {"disturbed": True}, ["disturbed"]),
        (AGREES, DIFFERS, ["disagrees"]),
        # What is retried or failed is left out of the times, and its output counts all the same.
        ({}, {"wall_s": 500.0, "attempt": 2}, ["retried"]),
        ({}, {"wall_s": 5.0, "failed": ["w0"]}, ["failed-trials"]),
        (AGREES, DIFFERS | {"attempt": 2}, ["retried", "disagrees"]),
    ],
)
def test_one_trial_beside_six_steady_ones_is_enough(new_run, others, one, codes):
    own = {"wall_s": 100.0} | one
    builder = repeated(new_run, **others)
    builder.trial("track", [{"compute": own.pop("wall_s")}], block=6, **own)
    assert flags_of(builder) == codes


ONE_NODE = {"nodes": ["a"]}
ORDERED = datetime(2000, 1, 1, tzinfo=UTC)
CLOCKS_DISAGREE = {"submit_utc": ORDERED, "begin_utc": ORDERED - timedelta(seconds=2)}


@pytest.mark.parametrize(
    ("second_s", "every_trial", "codes"),
    [
        (60.0, ONE_NODE, ["workers-did-not-overlap"]),
        (40.0, ONE_NODE, []),
        # Imbalance alone is not taken for missing overlap.
        (1.0, ONE_NODE | {"workers": (100.0, 10.0)}, []),
        # Clocks of several nodes are trusted to a second, unless they disagree.
        (50.9, {}, []),
        (51.1, {}, ["workers-did-not-overlap"]),
        (60.0, CLOCKS_DISAGREE, ["clocks-disagree"]),
        # Names of nodes do not matter, their hardware does.
        (0.0, {"hardware": ["xeon"]}, []),
        (0.0, {"hardware": ["xeon", "epyc"]}, ["mixed-hardware"]),
        # Workers that took turns on one core did not overlap.
        (
            *(0.0, ONE_NODE | {"workers": (10.0,) * 6, "lanes": [0, 1] * 3, "start_s": TURNS}),
            ["workers-in-turn"],
        ),
        # Nor did one that began when the other had ended; clocks may leave that open.
        (100.0, ONE_NODE, ["workers-in-turn"]),
        (100.0, {}, ["workers-did-not-overlap"]),
        (102.0, {}, ["workers-did-not-overlap"]),
        (100.0, CLOCKS_DISAGREE, ["clocks-disagree"]),
    ],
)
def test_two_workers_are_doubted_for_their_overlap_their_clocks_and_their_hardware(
    new_run, second_s, every_trial, codes
):
    builder = repeated(new_run)
    for block in range(6):
        told = {"workers": (100.0,) * 2, "start_s": (0.0, second_s), "nodes": ["a", "b"]}
        told |= every_trial
        workers = [{"compute": wall_s} for wall_s in told.pop("workers")]
        builder.trial("track", workers, block=block, **told)
    assert flags_of(builder, workers=2) == codes


@pytest.mark.parametrize(("in_turn", "is_invalid"), [(2, False), (3, True)])
def test_workers_that_took_turns_in_half_of_the_trials_have_no_speedup(
    new_run, in_turn, is_invalid
):
    builder = repeated(new_run)
    for block in range(6):
        second_s = 100.0 if block < in_turn else 0.0
        workers = [{"compute": 100.0}] * 2
        builder.trial("track", workers, block=block, start_s=(0.0, second_s), nodes=["a", "a"])
    codes = flags_of(builder, workers=2)
    assert ("workers-in-turn" in codes) is is_invalid
    assert ("workers-did-not-overlap" in codes) is not is_invalid
    assert builder.configurations["invalid"].to_list() == [False, is_invalid]


def test_a_baseline_on_another_machine_is_flagged(new_run):
    builder = repeated(new_run).curve("track", lambda *_: 50.0, (2,), hardware=["epyc"])
    assert flags_of(builder, workers=1) == []
    assert flags_of(builder, workers=2) == ["mixed-hardware"]


def slowing_down(new_run):
    """Two stages in six blocks of random order; only segment slows down, by 2 % a block."""
    builder = new_run()
    for block in range(6):
        for workers in (1, 2, 4) if block % 2 else (4, 1, 2):
            for stage, slower in (("segment", 0.02), ("track", 0.0)):
                wall_s = 100 / workers * (1 + slower * block)
                builder.trial(stage, [{"compute": wall_s}] * workers, block=block)
    return builder.trials


def test_drift_is_flagged_at_every_n_of_its_curve_where_the_order_of_trials_is_known(new_run):
    trials = slowing_down(new_run)
    unknown = trials.with_columns(position=pl.lit(None, dtype=pl.Int64))
    for given, is_known in ((trials, True), (unknown, False)):
        results = analysed(given, ReportContext(title="a run"))
        rows = results.configurations.rows(named=True)
        drifting_at = [(row["stage"], row["workers"]) for row in rows if "drift" in row["flags"]]
        assert drifting_at == [("segment", n) for n in (1, 2, 4)] * is_known
        compared = comparison(given, given)
        assert any("drift" in codes for codes in compared["new_flags"]) is is_known


def test_trials_tell_of_themselves_whatever_was_measured_in_them():
    flags = [["drift", "disturbed"], ["few-repeats", "clocks-disagree"], ["retried"]]
    found = pl.DataFrame({"stage": ["loader", "loader", "other"], "flags": flags})
    assert flags_of_trials(found, ["loader"]) == ["disturbed", "clocks-disagree"]
    assert flags_of_trials(found, []) == []


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


@pytest.mark.parametrize(
    ("times_s", "step_s"),
    [
        ([12.0, 13.0], 1.0),
        ([12.0, 13.5], 0.1),
        ([12.25, 13.0], 0.01),
        ([0.123, 13.0], 0.001),
        ([12.34567, 13.0], None),
    ],
)
def test_the_step_is_the_largest_that_all_times_are_multiples_of(times_s, step_s):
    assert rounded_to(times_s) == step_s


def of_table(rows, **columns):
    table = pl.DataFrame(rows, schema=["stage", "workers", "wall_s", "repeat"], orient="row")
    return trials_from_wall_times(table.with_columns(**columns))


def flags_of_table(*walls_s, **columns):
    rows = [("a", n, s, i) for n, own in zip((1, 2), walls_s, strict=True) for i, s in own]
    found = configurations(of_table(rows, **columns), interleaved=False)
    return [set(flags) for flags in found["flags"]]


def numbered(walls_s):
    return list(enumerate(walls_s))


def test_whole_seconds_widen_the_intervals_of_short_times_and_raise_a_doubt():
    coarse = flags_of_table(numbered([20.0, 21.0] * 3), numbered([12.0] * 6))
    assert all("coarse-times" in flags for flags in coarse)
    rows = [("a", 1, 20.0 + i % 2, i) for i in range(6)] + [("a", 2, 12.0, i) for i in range(6)]
    first, second = configurations(of_table(rows), interleaved=False).to_dicts()
    assert (first["wall_s_low"], first["wall_s_high"]) == (19.5, 21.5)
    assert (second["wall_s_low"], second["wall_s_high"]) == (11.5, 12.5)
    assert second["speedup_low"] < 20 / 12.5
    # A step that is small beside the scatter, or beside the time, raises none.
    scattered = flags_of_table(numbered([20.0, 29.0] * 3), numbered([12.0, 17.0] * 3))
    assert not any("coarse-times" in flags for flags in scattered)
    long = flags_of_table(numbered([2000.0, 2001.0] * 3), numbered([1200.0] * 6))
    assert not any("coarse-times" in flags for flags in long)


def test_no_choice_is_sure_that_rounding_could_turn():
    rows = [("a", n, wall_s, i) for n, wall_s in ((1, 20.0), (2, 14.0)) for i in range(6)]
    trials = of_table(rows)
    found = configurations(trials, interleaved=False)
    (choice,) = choices(found, trials, aims=[Aim(objective="knee")], interleaved=False)
    assert choice.sureness == "undecided"
    exact = trials.with_columns(rounded_to_s=pl.lit(None, pl.Float64))
    (choice,) = choices(found, exact, aims=[Aim(objective="knee")], interleaved=False)
    assert choice.sureness == "sure"


def test_the_order_is_that_of_the_starts_or_else_of_the_rows_without_blocks():
    rows = [("a", n, 9.123 / n + i, i) for n in (1, 2) for i in range(3)]
    assert of_table(rows)["in_a_row"].all()
    in_turns = pl.Series([datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in (0, 2, 4, 1, 3, 5)])
    assert not of_table(rows, start=in_turns)["in_a_row"].any()
    assert of_table(rows, start=in_turns.sort())["in_a_row"].all()
    assert not of_table(rows, block=pl.col("repeat"))["in_a_row"].any()
    found = configurations(of_table(rows), interleaved=False)
    assert all("in-a-row" in flags for flags in found["flags"])

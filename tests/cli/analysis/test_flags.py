from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from pyscale.analysis.comparison import comparison
from pyscale.analysis.doubts import first_stands_apart, flag_codes, is_unstable
from pyscale.analysis.flags import FLAGS, flags_of_trials, raised, without_invalid
from pyscale.analysis.scaling import configurations
from pyscale.analysis.trials import trial_table
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


def test_a_retried_trial_that_is_counted_says_so(new_run):
    builder = repeated(new_run, STEADY[:5]).trial("track", [{"compute": 100.0}], attempt=2, block=5)
    table = trial_table(builder.tasks, builder.spans, count_retried=True)
    assert flag_codes(table, table) == ["retried-counted"]
    assert "the timing includes it" in FLAGS["retried-counted"].sentence


def test_a_baseline_on_another_machine_is_flagged(new_run):
    builder = repeated(new_run).curve("track", lambda *_: 50.0, (2,), hardware=["epyc"])
    assert flags_of(builder, workers=1) == []
    assert flags_of(builder, workers=2) == ["mixed-hardware"]


def two_stages(new_run):
    """Stages track and segment at N = 1 and 2; one trial of track at N = 2 disagrees."""
    builder = new_run()
    for stage in ("track", "segment"):
        bad = (stage, 2, 1) if stage == "track" else None
        builder.curve(
            stage,
            lambda n, _: 90.0 / n,
            blocks=3,
            agreement=lambda *at, bad=bad, stage=stage: 0.25 if (stage, *at) == bad else 1.0,
            same=lambda *at, bad=bad, stage=stage: (stage, *at) != bad,
        )
    return builder.trials


@pytest.mark.parametrize("device", ["cpu", None])
def test_the_trials_of_an_invalid_configuration_and_no_others_are_left_out(new_run, device):
    trials = two_stages(new_run).with_columns(device=pl.lit(device, dtype=pl.String))
    left = without_invalid(trials, configurations(trials))
    assert left.equals(trials.filter(~((pl.col("stage") == "track") & (pl.col("workers") == 2))))


def test_without_any_check_nothing_is_invalid(new_run):
    assert repeated(new_run).configurations["invalid"].to_list() == [False]


def slowing_down(new_run):
    """Two stages in six blocks of random order; only segment slows down, by 2 % a block."""
    builder = new_run()
    for block in range(6):
        for workers in (1, 2, 4) if block % 2 else (4, 1, 2):
            for stage, slower in (("segment", 0.02), ("track", 0.0)):
                wall_s = 100 / workers * (1 + slower * block)
                builder.trial(stage, [{"compute": wall_s}] * workers, block=block)
    return builder.trials


def test_drift_is_flagged_at_every_n_of_the_curve_that_drifts(new_run):
    trials = slowing_down(new_run)
    rows = configurations(trials).rows(named=True)
    assert {row["stage"] for row in rows if "drift" in row["flags"]} == {"segment"}
    assert [row["workers"] for row in rows if "drift" in row["flags"]] == [1, 2, 4]


def test_no_drift_is_told_where_the_order_of_trials_is_not_known(new_run):
    trials = slowing_down(new_run)
    unknown = trials.with_columns(position=pl.lit(None, dtype=pl.Int64))
    for given, is_known in ((trials, True), (unknown, False)):
        results = analysed(given, ReportContext(title="a run"))
        assert any("drift" in codes for codes in results.configurations["flags"]) is is_known
        compared = comparison(given, given)
        assert any("drift" in codes for codes in compared["new_flags"]) is is_known


def test_trials_tell_of_themselves_whatever_was_measured_in_them():
    flags = [["drift", "disturbed"], ["few-repeats", "clocks-disagree"], ["retried"]]
    found = pl.DataFrame({"stage": ["loader", "loader", "other"], "flags": flags})
    assert flags_of_trials(found, ["loader"]) == ["disturbed", "clocks-disagree"]
    assert flags_of_trials(found, []) == []

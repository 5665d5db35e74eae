"""Times of several sets of results beside each other."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, wilcoxon

import madeuploader
import madeupreconstruct
from atleastone import some
from pyscale.analysis import judging
from pyscale.analysis.comparison import (
    Side,
    comparison,
    rank_times,
    stages_beside,
    times_side_by_side,
)
from pyscale.analysis.judging import Judgement, holm, judge, of_arms, of_blocks, reasons
from pyscale.analysis.losses import loss_table
from pyscale.analysis.ranks.loader import loader_trials
from pyscale.analysis.ranks.reconstruct import reconstruct_trials
from pyscale.analysis.scaling import configurations
from pyscale.analysis.walltimes import trials_from_wall_times

PIPELINE = 12
"""Configurations of a usual comparison: four stages at three worker counts."""
MANY = np.random.default_rng(5).lognormal(0, 0.05, (2, 200))
"""Two arms of many trials."""


def verdicts(judged):
    return [judgement.verdict for judgement in judged]


def draws(seed, repeats, noise=0.03, factors=(1.0,) * PIPELINE):
    """Lognormal wall times of each configuration, of which NEW takes so many times as long."""
    random = np.random.default_rng(seed)
    return [
        (
            random.lognormal(3, noise, repeats).tolist(),
            (factor * random.lognormal(3, noise, repeats)).tolist(),
        )
        for factor in factors
    ]


def told_longer(found):
    return bool({"worse", "slower"} & {*found})


def longer(factor):
    """Six trials, and the same so many times as long."""
    base = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0]
    return base, [factor * wall_s for wall_s in base]


class TestErrors:
    """How often verdicts are wrong, over what a user sees: all configurations of a comparison."""

    @pytest.mark.parametrize(("repeats", "factors"), [(6, (1.0,) * PIPELINE), (10, (1.0,))])
    def test_of_comparisons_of_equal_runs_at_most_5_percent_say_worse_anywhere(
        self, repeats, factors
    ):
        seen = [verdicts(judge(draws(seed, repeats, factors=factors))) for seed in range(200)]
        assert sum(told_longer(found) for found in seen) <= 10
        assert sum(bool({"better", "faster"} & {*found}) for found in seen) <= 10

    @pytest.mark.parametrize(("factor", "told"), [(1.1, {"worse", "slower"}), (1.2, {"worse"})])
    def test_a_slowdown_of_one_configuration_is_found_among_equal_ones(self, factor, told):
        factors = (factor, *(1.0,) * (PIPELINE - 1))
        seen = [verdicts(judge(draws(seed, 10, factors=factors))) for seed in range(300)]
        assert sum(found[0] in told for found in seen) >= 285
        # Those that did not change are no more often called slower for its sake.
        assert sum(told_longer(found[1:]) for found in seen) <= 15

    @pytest.mark.parametrize(
        ("repeats", "noise", "factor", "verdict"),
        [
            # A slowdown that does not count, and just what counts, fail no gate.
            *((6, 0.02, 1.02, "worse"), (20, 0.03, 1.02, "worse"), (20, 0.05, 1.02, "worse")),
            (10, 0.02, 1.05, "worse"),
            # Twice as far out as `same` allows, at a noise that leaves room for doubt.
            (10, 0.05, 1.1, "same"),
        ],
    )
    def test_at_most_5_percent_of_verdicts_are_wrong(self, repeats, noise, factor, verdict):
        seen = [judge(draws(seed, repeats, noise, (factor,)))[0].verdict for seed in range(200)]
        assert seen.count(verdict) <= 10


class TestVerdicts:
    @pytest.mark.parametrize(
        ("base", "new", "verdict", "reason"),
        [
            # Five against six give no verdict however far apart.
            ([1.0] * 5, [9.0] * 6, "not enough data", "few-trials"),
            ([1.0] * 6, [9.0] * 5, "not enough data", "few-trials"),
            # An interval that reaches beyond the margin is not the same.
            (range(80, 131, 10), range(81, 132, 10), "not enough data", "unsettled"),
            # Nor are equal medians of other scatter worse.
            (
                [100 + 0.001 * k for k in range(-10, 11)],
                range(90, 111),
                *("same", None),
            ),
            ([1.0] * 6, [1.0] * 6, "same", None),
            (MANY[0], 1.1 * MANY[1], "worse", None),
        ],
    )
    def test_a_verdict_needs_six_trials_and_an_interval_on_one_side(
        self, base, new, verdict, reason
    ):
        (found,) = judge([([float(one) for one in base], [float(one) for one in new])])
        assert (found.verdict, found.reason) == (verdict, reason)
        if reason == "few-trials":
            assert found == Judgement(verdict, reason, 9.0)

    def test_no_trials_have_not_even_a_ratio(self):
        assert judge([([], [1.0] * 6)]) == [Judgement("not enough data", "few-trials")]

    def test_six_slower_than_all_of_six_are_worse_and_the_other_way_round_better(self):
        slow, fast = [12.0, 12.1, 12.2, 12.3, 12.4, 12.5], [10.0, 10.1, 10.2, 10.3, 10.4, 10.5]
        worse, better = judge([(fast, slow)])[0], judge([(slow, fast)])[0]
        assert worse.verdict == "worse"
        assert worse.ratio == pytest.approx(12.25 / 10.25, rel=1e-4)
        # One of the 924 orders of twelve trials is as extreme.
        assert worse.p_adjusted == pytest.approx(1 / 924)
        assert better.verdict == "better"
        assert better.ratio == pytest.approx(1 / worse.ratio)

    def test_a_certain_difference_that_may_be_smaller_than_the_margin_has_words_of_its_own(self):
        slower = judge([longer(1.055)])[0]
        assert 1 < slower.interval.low < 1.05 < slower.interval.high
        assert (slower.verdict, slower.reason) == ("slower", None)
        assert slower.p_adjusted < 0.05 < slower.p_beyond
        assert judge([longer(1 / 1.055)])[0].verdict == "faster"
        within = judge([longer(1.02)])[0]
        assert (within.verdict, within.p_adjusted < 0.05) == ("same", True)
        assert within.interval.low > 1

    def test_what_counts_can_be_asked_for(self):
        pair = longer(1.12)
        asked = (0.02, 0.05, 0.1, 0.2)
        found = [judge([pair], at_least=at_least)[0].verdict for at_least in asked]
        assert found == ["worse", "worse", "slower", "same"]

    def test_what_differs_alone_and_not_together_says_so(self):
        # One-sided p = 0.013: told alone, and not among twelve.
        base = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        pair = (base, [3.5, 4.5, 5.5, 6.5, 7.5, 8.5])
        assert verdicts(judge([pair])) == ["worse"]
        among = judge([pair, *draws(1, 6, factors=(1.0,) * 11)])[0]
        assert (among.verdict, among.reason) == ("not enough data", "only-alone")
        assert among.interval is not None
        assert among.interval.low > 1

    @given(
        st.lists(
            st.tuples(
                st.lists(st.floats(0.5, 2), min_size=6, max_size=9),
                st.lists(st.floats(0.5, 2), min_size=6, max_size=9),
            ),
            min_size=1,
            max_size=4,
        ),
        st.booleans(),
    )
    @settings(max_examples=100)
    def test_sentence_interval_and_probability_never_contradict_each_other(self, arms, paired):
        if paired:
            arms = [(base[: len(new)], new[: len(base)]) for base, new in arms]
        for judged in some(judge(arms, paired=paired)):
            low, high, _ = judged.interval
            assert low <= judged.ratio <= high
            leaves_1_out = low > 1 or high < 1
            if judged.p_adjusted <= 0.05:
                assert leaves_1_out
                assert judged.reason is None
            if judged.reason == "unsettled":
                assert not leaves_1_out
                assert low <= 1 / 1.05 or high >= 1.05
            if judged.reason == "only-alone":
                assert leaves_1_out
            if judged.verdict in {"worse", "slower"}:
                assert low > (1.05 if judged.verdict == "worse" else 1)
                assert judged.p_adjusted <= 0.05

    def test_many_configurations_with_few_trials_are_said_to_be_too_many(self):
        slowed = ([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [2.0, 2.1, 2.2, 2.3, 2.4, 2.5])
        assert verdicts(judge([slowed] * 46)) == ["worse"] * 46
        judged = judge([slowed] * 47)
        assert verdicts(judged) == ["not enough data"] * 47
        assert {judgement.reason for judgement in judged} == {"many-configurations"}
        # Those without enough trials cost the others nothing.
        assert judge([slowed, *[([1.0], [1.0])] * 99])[0].p_adjusted == pytest.approx(1 / 924)


def test_three_configurations_of_six_blocks_are_what_six_blocks_can_tell():
    slowed = ([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [2.0, 2.3, 2.2, 2.6, 2.9, 2.8])
    assert verdicts(judge([slowed] * 3, paired=True)) == ["worse"] * 3
    judged = judge([slowed] * 4, paired=True)
    assert {judgement.reason for judgement in judged} == {"many-configurations"}
    # What is said is said of blocks.
    assert "Fewer than 6 blocks timed both" in reasons(paired=True)["few-trials"]
    unsettled = reasons(0.1, paired=True)["unsettled"]
    assert "more than 10 % cannot be excluded: time more blocks" in unsettled


@pytest.mark.parametrize(
    ("alone", "together"),
    [([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]), ([0.9, 0.8], [1, 1]), ([], [])],
)
def test_the_smallest_is_multiplied_by_the_number_and_none_exceeds_1(alone, together):
    assert holm(alone) == pytest.approx(together)


class TestTables:
    @pytest.fixture
    def base(self, new_run):
        return of_stages(new_run, {("segment", 1): 10.0, ("segment", 2): 6.0, ("track", 1): 3.0})

    def test_a_configuration_of_one_table_has_no_verdict(self, base, new_run):
        new = of_stages(new_run, {("segment", 1): 10.0, ("segment", 4): 3.0})
        rows = comparison(base, new).rows(named=True)
        assert [(row["stage"], row["workers"], row["verdict"]) for row in rows] == [
            ("segment", 1, "same"),
            ("segment", 2, None),
            ("track", 1, None),
            ("segment", 4, None),
        ]
        assert [row["new_repeats"] for row in rows] == [6, None, None, 6]
        assert rows[1]["base_wall_s"] == pytest.approx(6.05)

    def test_where_n_workers_had_other_work_nothing_is_judged(self, new_run):
        walls_s = {("segment", 1): 10.0, ("segment", 2): 6.0}
        base = of_stages(new_run, walls_s)
        new = base.with_columns(
            work=pl.when(pl.col("workers") == 2).then(2 * pl.col("work")).otherwise("work")
        )
        rows = comparison(base, new).rows(named=True)
        assert [(row["verdict"], row["reason"]) for row in rows] == [
            ("same", None),
            (None, "other-work"),
        ]
        # What is not judged does not make the others harder to tell.
        alone = comparison(*(one.filter(pl.col("workers") == 1) for one in (base, new)))
        assert rows[0] == alone.row(0, named=True)

    def test_trials_that_are_not_timed_do_not_enter_and_are_flagged(self, base, new_run):
        run = new_run().curve("segment", lambda _, block: 10 + 0.02 * block, (1,))
        run.trial("segment", [{"compute": 99.0}], block=6, attempt=2)
        run.trial("segment", [{"compute": 99.0}], block=7, failed=["w0"])
        row = comparison(base, run.trials).row(0, named=True)
        assert (row["base_repeats"], row["new_repeats"], row["verdict"]) == (6, 6, "same")
        assert row["base_flags"] == []
        assert row["new_flags"] == ["retried", "failed-trials"]

    def test_trials_are_paired_by_the_blocks_that_both_timed(self):
        blocks = np.random.default_rng(3).lognormal(0, 0.3, 9)
        # Each lacks blocks of the other, and their order is another.
        base, new = (
            of_times(own, factor * blocks[own])
            for factor, own in ((1.0, [*range(8)]), (1.2, [*range(8, 0, -1)]))
        )
        apart = comparison(base, new).row(0, named=True)
        row = comparison(base, new, paired=True).row(0, named=True)
        assert (apart["verdict"], row["verdict"]) == ("not enough data", "worse")
        assert row["ratio"] == pytest.approx(1.2)
        assert row["p_adjusted"] == pytest.approx(1 / 2**7)
        few = new.filter(pl.col("block") > 2)
        assert comparison(base, few, paired=True)["reason"].to_list() == ["few-trials"]

    def test_tables_of_wall_times_have_no_device_and_are_compared_all_the_same(self):
        base, new = (
            of_times(range(6), [factor * (10 + 0.01 * k) for k in range(6)], suite)
            for suite, factor in (("before", 1.0), ("after", 1.2))
        )
        row = comparison(base, new).row(0, named=True)
        assert (row["device"], row["verdict"]) == (None, "worse")


def of_stages(new_run, walls_s, **every_task):
    """Six trials of each stage and worker count, the later ones a little longer."""
    run = new_run()
    for (stage, workers), wall_s in walls_s.items():
        run.curve(stage, lambda _, block, s=wall_s: s + 0.02 * block, (workers,), **every_task)
    return run.trials


def of_times(blocks, walls_s, suite="table"):
    """A table of wall times of one worker in some blocks."""
    table = {"stage": "segment", "workers": 1, "repeat": blocks, "wall_s": walls_s}
    return trials_from_wall_times(pl.DataFrame(table), suite)


@pytest.mark.parametrize("kind", ["loading", "reconstruction"])
def test_of_ranks_the_time_of_a_patch_or_of_an_iteration_counts(kind):
    none = pl.DataFrame()
    tables = {
        "loading": madeuploader.loading(madeuploader.ENTRIES[:1]),
        "reconstruction": madeupreconstruct.reconstruction(madeupreconstruct.ENTRIES[:1]),
    }
    own = dict.fromkeys(tables, none) | {kind: tables[kind]}
    found = rank_times(**own)
    trials, time_s = {
        "loading": (loader_trials, 1 / pl.col("patches_per_s")),
        "reconstruction": (reconstruct_trials, pl.col("wall_s")),
    }[kind]
    counted = trials(tables[kind]).filter("valid")
    assert found["wall_s"].to_list() == counted.select(time_s).to_series().to_list()
    assert found["trial"].to_list() == counted["trial"].to_list()
    assert found["work"].null_count() == 0 < found.height
    assert rank_times(none, none).is_empty()


WALLS_S = st.lists(st.floats(0.5, 2), min_size=6, max_size=12)


def arms(seed, base, new):
    random = np.random.default_rng(seed)
    return random.lognormal(0, 0.1, base).tolist(), random.lognormal(0.05, 0.1, new).tolist()


def just_outside(test, error):
    ends = test.interval(error)
    return ends.low * (1 - 1e-9), ends.high * (1 + 1e-9)


@pytest.mark.parametrize(("base", "new"), [(6, 6), (6, 9), (12, 7), (30, 40)])
@pytest.mark.parametrize("ratio", [1 / 1.05, 1.0, 1.05])
def test_arms_have_the_probabilities_of_mann_and_whitney(base, new, ratio):
    before, after = arms(base + new, base, new)
    test = of_arms(before, after)
    shifted = [wall_s / ratio for wall_s in after]
    for found, alternative in ((test.p_above, "greater"), (test.p_below, "less")):
        expected = mannwhitneyu(shifted, before, alternative=alternative, method="exact").pvalue
        assert found(ratio) == pytest.approx(expected)


@pytest.mark.parametrize("blocks", [6, 9, 40])
@pytest.mark.parametrize("ratio", [1 / 1.05, 1.0, 1.05])
def test_blocks_have_the_probabilities_of_wilcoxon(blocks, ratio):
    before, after = arms(blocks, blocks, blocks)
    test = of_blocks(before, after)
    logs = np.log(np.divide(after, before) / ratio)
    for found, alternative in ((test.p_above, "greater"), (test.p_below, "less")):
        expected = wilcoxon(logs, alternative=alternative, method="exact").pvalue
        assert found(ratio) == pytest.approx(expected)


def test_of_many_trials_the_normal_law_is_as_good():
    before, after = arms(3, 150, 150)
    assert 150 * 150 > 150 * 151 / 2 > judging.EXACT
    slower = [wall_s / 1.03 for wall_s in after]
    exact = mannwhitneyu(slower, before, alternative="greater", method="exact").pvalue
    assert of_arms(before, after).p_above(1.03) == pytest.approx(exact, rel=0.02)
    logs = np.log(np.divide(slower, before))
    exact = wilcoxon(logs, alternative="greater", method="exact").pvalue
    assert of_blocks(before, after).p_above(1.03) == pytest.approx(exact, rel=0.02)
    assert 0.001 < exact < 0.2


@given(WALLS_S, WALLS_S, st.sampled_from([of_arms, of_blocks]), st.sampled_from([0.05, 0.1]))
@settings(max_examples=100)
def test_a_ratio_is_outside_the_interval_exactly_where_the_test_rejects_it(base, new, of, error):
    size = min(len(base), len(new))
    test = of(base[:size], new[:size])
    ends = test.interval(error)
    low, high = just_outside(test, error)
    assert ends.low <= test.ratio <= ends.high
    assert test.p_above(ends.low) > error
    assert test.p_below(ends.high) > error
    assert test.p_above(low) <= error
    assert test.p_below(high) <= error
    assert 1 - 2 * error <= ends.coverage < 1


def test_ties_speak_against_a_difference():
    test = of_arms([10.0] * 3 + [11.0] * 3, [11.0] * 6)
    assert test.p_above(1.0) > 0.05
    same = of_arms([10.0] * 6, [10.0] * 6)
    assert same.interval(0.05)[:2] == (1.0, 1.0)


def test_what_slows_a_block_cancels():
    blocks = [1.0, 1.4, 0.7, 2.0, 1.1, 1.7, 0.9, 1.3]
    slowed = [1.03 * wall_s for wall_s in blocks]
    assert of_blocks(blocks, slowed).ratio == pytest.approx(1.03)
    assert of_blocks(blocks, slowed).p_above(1.02) == pytest.approx(1 / 2**8)
    assert of_arms(blocks, slowed).p_above(1.0) > 0.3


def test_too_few_trials_have_no_interval():
    assert of_arms([1.0, 2.0], [3.0, 4.0]).interval(0.05) is None


def test_arms_of_very_many_trials_are_thinned_to_what_fits_into_memory():
    random = np.random.default_rng(7)
    base, new = random.lognormal(0, 0.1, (2, 50_000))
    test = of_arms(base.tolist(), (1.02 * new).tolist())
    assert len(test.ratios) == judging.MOST_TRIALS**2
    ends = test.interval(0.05)
    assert ends.low < 1.02 < ends.high
    assert ends.high / ends.low < 1.02


def side(run, *alike, parts=True):
    """What a builder holds, as a side."""
    trials = run.trials
    losses = loss_table(trials) if parts else None
    return Side(configurations(trials), frozenset(alike), losses, trials)


def filled(new_run, seconds, counts=(1, 2), repeats=1, **every_trial):
    """A run in which each stage takes so long in sum, whatever its number of workers."""
    run = new_run()
    for stage, whole_s in seconds.items():

        def spent(n, block, whole_s=whole_s):
            return {"import": 0.5, "compute": (whole_s + 0.01 * block) / n}

        run.curve(stage, spent, counts, repeats, **every_trial)
    return run


def speedups(*sides):
    return stages_beside(sides).speedups


def side_of(table, **where):
    """Rows of whole stages."""
    whole = table.filter(pl.col("part").is_null(), pl.col("stage").is_not_null())
    return whole.filter(**where).to_dicts()


class TestTimes:
    def test_where_no_trial_was_timed_there_is_neither_a_sum_nor_a_percentage(self, new_run):
        own = side(filled(new_run, {"segment": 10.0, "track": 4.0}), parts=False)
        untimed = own.configurations.with_columns(
            wall_s=pl.when(pl.col("workers") == 1).then("wall_s")
        )
        times = times_side_by_side([Side(untimed, frozenset())])
        at_two = times.filter(workers=2)
        assert at_two["stage"].to_list() == ["segment", "track"]
        assert at_two["percent"].to_list() == [None, None]

    @pytest.mark.parametrize("devices", [1, 2])
    def test_a_side_without_a_device_stands_beside_the_only_one_that_was_named(
        self, new_run, devices
    ):
        run = filled(new_run, {"segment": 10.0})
        unnamed = run.configurations.with_columns(device=pl.lit(None, pl.String))
        if devices == 2:
            run.curve("segment", lambda *_: 1.0, blocks=1, device="cuda")
        times = times_side_by_side([side(run), Side(unnamed, frozenset())]).drop_nulls("stage")
        elsewhere = times.filter(pl.col("side") == 1)
        assert elsewhere["device"].to_list() == [None if devices == 2 else "cpu"] * 2
        assert elsewhere["own_device"].to_list() == [None, None]
        named = set(times.filter(pl.col("side") == 0)["device"])
        assert named == {"cpu", "cuda"} if devices == 2 else {"cpu"}

    def test_sides_may_have_other_stages_and_other_numbers_of_workers(self, new_run):
        few = side(filled(new_run, {"segment": 10.0}, counts=(1,)))
        more = side(filled(new_run, {"segment": 10.0, "track": 4.0}, counts=(1, 4)))
        times = times_side_by_side([few, more])
        found = times.filter(pl.col("part").is_null()).select("side", "stage", "workers").rows()
        assert found == [
            *((0, None, 1), (1, None, 1), (0, "segment", 1), (1, "segment", 1), (1, "track", 1)),
            *((1, None, 4), (1, "segment", 4), (1, "track", 4)),
        ]


class TestSpeedups:
    def test_intervals_enclose_and_turn_round_with_the_base(self, new_run):
        slow = side(filled(new_run, {"segment": 20.0}, repeats=6), "movie")
        fast = side(filled(new_run, {"segment": 9.0}, repeats=6), "movie")
        table = speedups(slow, fast)
        for row in some(side_of(table, base=0)):
            assert row["speedup_low"] <= row["speedup"] <= row["speedup_high"]
            back = side_of(table, base=1, workers=row["workers"])[0]
            assert back["speedup_low"] == pytest.approx(1 / row["speedup_high"])
            assert back["speedup_high"] == pytest.approx(1 / row["speedup_low"])

    def test_without_enough_trials_there_is_no_interval(self, new_run):
        run = filled(new_run, {"segment": 20.0}, repeats=5)
        table = speedups(side(run, "movie"), side(run, "movie"))
        assert table["speedup_low"].null_count() == table.height
        assert {row["speedup"] for row in side_of(table)} == {1.0}

    @pytest.mark.parametrize(
        ("names", "reason"),
        [
            ((("a",), ("b",)), "other-input"),
            (((), ("b",)), "unknown-work"),
            (((), ()), "unknown-work"),
            # One name in common is enough.
            ((("movie", "work"), ("work",)), None),
        ],
    )
    def test_sides_that_share_no_work_are_not_compared(self, new_run, names, reason):
        run = filled(new_run, {"segment": 20.0})
        table = speedups(*(side(run, *own) for own in names))
        rows = table.to_dicts() if reason else side_of(table)
        assert {row["why_not"] for row in rows} == {reason}
        assert all((row["speedup"] is None) == bool(reason) for row in rows)

    def test_other_work_at_one_n_is_not_compared_there(self, new_run):
        strong = filled(new_run, {"segment": 20.0}, movie_frames=80)
        frames = {"movie_frames": lambda n, _: 80 * n}
        weak = new_run().curve("segment", lambda *_: 9.0, blocks=1, **frames)
        table = speedups(side(strong, "movie"), side(weak, "movie"))
        assert side_of(table, base=0, workers=1)[0]["why_not"] is None
        assert side_of(table, base=0, workers=2)[0]["why_not"] == "other-work"
        # Nor are its parts, nor the sum that it is part of.
        at_two = table.filter(pl.col("workers") == 2)
        assert at_two["speedup"].null_count() == at_two.height

    def test_sums_over_other_stages_are_not_compared(self, new_run):
        both = side(filled(new_run, {"segment": 20.0, "track": 3.0}), "movie")
        one = side(filled(new_run, {"segment": 20.0}), "movie")
        table = speedups(both, one)
        summed = table.filter(pl.col("stage").is_null(), pl.col("base") == 0)
        assert summed["why_not"].to_list() == ["other-stages"] * 2
        alone = side_of(table, base=1, stage="track")
        assert {row["why_not"] for row in alone} == {"not-in-base"}

    def test_an_invalid_configuration_is_not_compared(self, new_run):
        good = filled(new_run, {"segment": 20.0}, agreement=1.0, same=True)
        same = {"agreement": lambda n, _: 1.0 if n == 1 else 0.2, "same": lambda n, _: n == 1}
        bad = new_run().curve("segment", lambda n, _: 20.0 / n, blocks=1, **same)
        table = speedups(side(good, "movie"), side(bad, "movie"))
        for base in (0, 1):
            assert side_of(table, base=base, workers=2)[0]["why_not"] == "invalid"
            assert side_of(table, base=base, workers=1)[0]["why_not"] is None

    def test_what_took_no_time_has_no_speedup(self, new_run):
        run = filled(new_run, {"segment": 20.0})
        table = speedups(side(run, "movie"), side(run, "movie"))
        read = table.filter(pl.col("part") == "read")
        assert set(read["why_not"]) == {"no-time"}
        assert read["speedup"].null_count() == read.height

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyscale.analysis.comparison import comparison
from pyscale.analysis.judging import Judgement, holm, judge, reasons
from pyscale.analysis.trials import trial_table
from pyscale.analysis.walltimes import trials_from_wall_times

PIPELINE = 12
"""Configurations of a usual comparison: four stages at three worker counts."""


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
        seen = [verdicts(judge(draws(seed, repeats, factors=factors))) for seed in range(400)]
        assert sum(told_longer(found) for found in seen) <= 20
        assert sum(bool({"better", "faster"} & {*found}) for found in seen) <= 20

    @pytest.mark.parametrize(("factor", "told"), [(1.1, {"worse", "slower"}), (1.2, {"worse"})])
    def test_a_slowdown_of_one_configuration_is_found_among_equal_ones(self, factor, told):
        factors = (factor, *(1.0,) * (PIPELINE - 1))
        seen = [verdicts(judge(draws(seed, 10, factors=factors))) for seed in range(600)]
        assert sum(found[0] in told for found in seen) >= 570
        # Those that did not change are no more often called slower for its sake.
        assert sum(told_longer(found[1:]) for found in seen) <= 30

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
        seen = [judge(draws(seed, repeats, noise, (factor,)))[0].verdict for seed in range(400)]
        assert seen.count(verdict) <= 20

    @pytest.mark.parametrize("paired", [False, True])
    def test_a_machine_that_is_slow_for_whole_blocks_only_matters_without_pairs(self, paired):
        random = np.random.default_rng(1)
        found = 0
        for pair in (draws(seed, 10, 0.02, (1.1,))[0] for seed in range(200)):
            blocks = random.lognormal(0, 0.15, 10)
            arms = [(blocks * arm).tolist() for arm in pair]
            found += judge([(arms[0], arms[1])], paired=paired)[0].verdict == "worse"
        assert found > 180 if paired else found < 20

    def test_wall_times_in_whole_seconds_raise_no_false_alarms(self):
        seen = []
        for seed in range(100):
            rounded = [
                tuple(np.round(arm).tolist() for arm in pair) for pair in draws(seed, 6, 0.1)
            ]
            seen.append(verdicts(judge(rounded[:2])))
        assert sum(told_longer(found) for found in seen) <= 0.05 * 100


class TestVerdicts:
    def test_five_against_six_give_no_verdict_however_far_apart(self):
        for base, new in (([1.0] * 5, [9.0] * 6), ([1.0] * 6, [9.0] * 5)):
            assert judge([(base, new)]) == [Judgement("not enough data", "few-trials", 9.0)]

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

    def test_a_certain_difference_within_the_margin_is_the_same(self):
        base = [100.0, 100.1, 100.2, 100.3, 100.4, 100.5]
        judged = judge([(base, [1.02 * wall_s for wall_s in base])])[0]
        assert judged.p_adjusted < 0.05
        assert judged.interval.low > 1
        assert judged.verdict == "same"

    def test_a_certain_difference_that_may_be_smaller_than_the_margin_has_words_of_its_own(self):
        slower = judge([longer(1.055)])[0]
        assert 1 < slower.interval.low < 1.05 < slower.interval.high
        assert (slower.verdict, slower.reason) == ("slower", None)
        assert slower.p_adjusted < 0.05 < slower.p_beyond
        assert judge([longer(1 / 1.055)])[0].verdict == "faster"

    def test_what_counts_can_be_asked_for_and_what_runs_differ_by_is_never_worse(self):
        pair = longer(1.12)
        asked = (0.02, 0.05, 0.1, 0.2)
        found = [judge([pair], at_least=at_least)[0].verdict for at_least in asked]
        assert found == ["worse", "worse", "slower", "same"]
        assert verdicts(judge([pair], scatter=0.08)) == ["worse"]
        # The least change that counts stays: what differs as runs do is not the same.
        (within,) = judge([pair], scatter=0.2)
        assert (within.verdict, within.reason) == ("not enough data", "as-runs-differ")

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
        for judged in judge(arms, paired=paired):
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

    def test_an_interval_that_reaches_beyond_the_margin_is_not_the_same(self):
        judged = judge([([80.0, 90, 100, 110, 120, 130], [81.0, 91, 101, 111, 121, 131])])[0]
        assert (judged.verdict, judged.reason) == ("not enough data", "unsettled")

    def test_equal_medians_of_other_scatter_are_not_worse(self):
        base = [100 + 0.001 * k for k in range(-10, 11)]
        judged = judge([(base, [100.0 + k for k in range(-10, 11)])])[0]
        assert judged.verdict not in {"worse", "better"}

    def test_trials_that_all_take_the_same_time_are_the_same(self):
        assert verdicts(judge([([1.0] * 6, [1.0] * 6)])) == ["same"]

    def test_many_configurations_with_few_trials_are_said_to_be_too_many(self):
        slowed = ([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [2.0, 2.1, 2.2, 2.3, 2.4, 2.5])
        assert verdicts(judge([slowed] * 46)) == ["worse"] * 46
        judged = judge([slowed] * 47)
        assert verdicts(judged) == ["not enough data"] * 47
        assert {judgement.reason for judgement in judged} == {"many-configurations"}
        # Those without enough trials cost the others nothing.
        assert judge([slowed, *[([1.0], [1.0])] * 99])[0].p_adjusted == pytest.approx(1 / 924)

    def test_arms_of_many_trials_are_compared_too(self):
        random = np.random.default_rng(5)
        base, new = random.lognormal(0, 0.05, (2, 200))
        assert verdicts(judge([(base.tolist(), (1.1 * new).tolist())])) == ["worse"]

    @given(
        st.lists(st.floats(0.5, 2), min_size=6, max_size=12),
        st.lists(st.floats(0.5, 2), min_size=6, max_size=12),
        st.sampled_from((0.25, 8.0, 1024.0)),
        st.randoms(use_true_random=False),
    )
    @settings(max_examples=25)
    def test_neither_the_unit_of_time_nor_the_order_of_trials_matters(
        self, base, new, unit, random
    ):
        scaled = ([unit * wall_s for wall_s in base], [unit * wall_s for wall_s in new])
        for arm in scaled:
            random.shuffle(arm)
        assert judge([(base, new)]) == judge([scaled])


class TestBlocks:
    def test_three_configurations_of_six_blocks_are_what_six_blocks_can_tell(self):
        slowed = ([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [2.0, 2.3, 2.2, 2.6, 2.9, 2.8])
        assert verdicts(judge([slowed] * 3, paired=True)) == ["worse"] * 3
        judged = judge([slowed] * 4, paired=True)
        assert {judgement.reason for judgement in judged} == {"many-configurations"}

    def test_what_is_said_is_said_of_blocks(self):
        assert "Fewer than 6 blocks timed both" in reasons(paired=True)["few-trials"]
        assert (
            "more than 10 % cannot be excluded: time more blocks"
            in reasons(0.1, paired=True)["unsettled"]
        )


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

    def test_configurations_are_compared_by_stage_device_and_worker_count(self, base, new_run):
        new = of_stages(new_run, {("segment", 2): 9.0, ("segment", 1): 8.0, ("track", 1): 3.0})
        found = comparison(base, new).select("stage", "workers", "verdict", "ratio").rows()
        assert [row[:3] for row in found] == [
            ("segment", 1, "better"),
            ("segment", 2, "worse"),
            ("track", 1, "same"),
        ]
        assert [row[3] for row in found] == pytest.approx([8.05 / 10.05, 9.05 / 6.05, 1.0])

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

    def test_another_device_is_another_configuration(self, base, new_run):
        new = of_stages(new_run, {("segment", 1): 1.0}, device="cuda")
        assert comparison(base, new)["verdict"].null_count() == 4

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
        run = new_run()
        for block in range(6):
            run.trial("segment", [{"compute": 10 + 0.02 * block}], block=block)
        run.trial("segment", [{"compute": 99.0}], block=6, attempt=2)
        run.trial("segment", [{"compute": 99.0}], block=7, failed=["w0"])
        row = comparison(base, trial_table(run.tasks, run.spans)).row(0, named=True)
        assert (row["base_repeats"], row["new_repeats"], row["verdict"]) == (6, 6, "same")
        assert row["base_flags"] == []
        assert row["new_flags"] == ["retried", "failed-trials"]

    def test_trials_are_paired_by_the_blocks_that_both_timed(self):
        blocks = np.random.default_rng(3).lognormal(0, 0.3, 9)
        base, new = (
            trials_from_wall_times(
                pl.DataFrame(
                    {
                        "stage": "segment",
                        "workers": 1,
                        "repeat": own,
                        "wall_s": [factor * blocks[block] for block in own],
                    }
                )
            )
            # Each lacks blocks of the other, and their order is another.
            for factor, own in ((1.0, [0, 1, 2, 3, 4, 5, 6, 7]), (1.2, [8, 7, 6, 5, 4, 3, 2, 1]))
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
            trials_from_wall_times(
                pl.DataFrame(
                    {
                        "stage": "segment",
                        "workers": 1,
                        "repeat": range(6),
                        "wall_s": [factor * (10 + 0.01 * k) for k in range(6)],
                    }
                ),
                suite,
            )
            for suite, factor in (("before", 1.0), ("after", 1.2))
        )
        row = comparison(base, new).row(0, named=True)
        assert (row["device"], row["verdict"]) == (None, "worse")


def of_stages(new_run, walls_s, **every_task):
    """Six trials of each stage and worker count, the later ones a little longer."""
    run = new_run()
    for block in range(6):
        for (stage, workers), wall_s in walls_s.items():
            run.trial(
                stage, [{"compute": wall_s + 0.02 * block}] * workers, block=block, **every_task
            )
    return trial_table(run.tasks, run.spans)

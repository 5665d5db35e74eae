import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscale.analysis.intervals import (
    LEAST_RESAMPLES,
    RESAMPLES,
    in_shared_blocks,
    median_interval,
    ratio_interval,
    ratio_interval_by_block,
    repeats_needed,
    resampled_medians,
    sureness,
)

TIMES = st.floats(0.01, 1e5, allow_nan=False)


@pytest.mark.parametrize(
    ("trials", "confidence", "interval"),
    [
        ([1, 2, 3, 4, 5], 0.95, None),
        # What covers no more than is asked for will do.
        ([1, 2], 0.5, (1, 2, 0.5)),
        ([1, 2, 3, 4, 5], 0.93, (1, 5, 0.9375)),
        ([6, 1, 5, 2, 4, 3], 0.95, (1, 6, 0.96875)),
        # Ranks 2 and 8 of 9 cover 96.1 %, ranks 3 and 7 only 82.0 %.
        (range(1, 10), 0.95, (2, 8, 0.9609375)),
    ],
)
def test_six_repeats_give_their_range_and_more_leave_the_extremes_out(trials, confidence, interval):
    found = median_interval(trials, confidence)
    assert found == (interval and pytest.approx(interval))
    assert (len(trials) >= repeats_needed(confidence)) is (found is not None)
    assert (repeats_needed(0.95), repeats_needed(0.93)) == (6, 5)


def test_an_interval_of_a_ratio_needs_six_repeats_of_either_arm_and_is_always_the_same():
    six, five = [1.0, 2, 3, 4, 5, 6], [1.0, 2, 3, 4, 5]
    assert ratio_interval(six, five, paired=False) is None
    assert ratio_interval(five, six, paired=False) is None
    assert ratio_interval(five, five, paired=True) is None
    times, halves = [10.0, 11, 12, 10.5, 11.5, 9.8], [5.2, 5.6, 6.3, 5.1, 5.9, 5.0]
    first = ratio_interval(times, halves, paired=True)
    assert first == ratio_interval(times, halves, paired=True)
    assert first.low <= np.median(times) / np.median(halves) <= first.high


def test_drift_shared_by_a_block_cancels_when_blocks_are_resampled():
    drift = np.array([1.0, 1.1, 1.2, 1.3, 1.4, 1.5])
    paired = ratio_interval(100 * drift, 50 * drift, paired=True)
    apart = ratio_interval(100 * drift, 50 * drift, paired=False)
    assert paired[:2] == pytest.approx((2, 2))
    assert apart.high - apart.low > 0.3


SLOW = np.array([1.0, 1.3, 1.1, 1.5, 1.2, 1.4, 1.05, 1.25])
"""How much slower each of eight blocks was than the first."""


def arm(wall_s, *, without=()):
    """Time an arm in all blocks but some, the last block first."""
    table = pl.DataFrame({"block": range(len(SLOW)), "wall_s": wall_s * SLOW})
    return table.filter(~pl.col("block").is_in(without)).reverse()


def test_a_block_that_one_arm_lost_is_left_out_of_the_pairs():
    one, other = arm(100), arm(50, without=(3,))
    top, bottom = in_shared_blocks([one, other], "wall_s") or []
    assert np.array(top) / np.array(bottom) == pytest.approx(np.full(7, 2))
    assert ratio_interval_by_block(one, arm(50)) == pytest.approx((2, 2, 0.95))
    lost, apart = (
        ratio_interval_by_block(one, other, interleaved=interleaved)
        for interleaved in (True, False)
    )
    assert lost.low <= 2 <= lost.high
    assert lost.high - lost.low < 0.1 < apart.high - apart.low


def test_the_interval_of_shared_blocks_holds_the_ratio_of_all_trials():
    one, other = arm(100), arm(50, without=(3, 5))
    ratio = one["wall_s"].median() / other["wall_s"].median()
    interval = ratio_interval_by_block(one, other)
    # In each shared block it is 2, but the two blocks that one arm lacks were slow ones.
    assert (interval.low, interval.high) == pytest.approx((2, ratio))
    assert ratio > 2.05


def test_fewer_than_six_shared_blocks_and_two_times_of_one_block_pair_nothing():
    one, other = arm(100, without=(0, 1)), arm(50, without=(2,))
    assert in_shared_blocks([one, other], "wall_s") is None
    assert ratio_interval_by_block(one, other) == ratio_interval_by_block(
        one, other, interleaved=False
    )
    assert in_shared_blocks([arm(100), pl.concat([arm(50), arm(50)])], "wall_s") is None


@given(st.lists(TIMES, min_size=6, max_size=30))
def test_the_median_lies_in_its_interval_whose_ends_are_trials(values):
    interval = median_interval(values)
    assert interval.low <= np.median(values) <= interval.high
    assert interval.coverage >= 0.95
    assert {interval.low, interval.high} <= set(values)


def one_by_one(arms, *, paired, count, seed=0):
    """Medians of resamples that are drawn trial by trial."""
    random = np.random.default_rng(seed)
    if paired:
        drawn = [random.integers(len(arms[0]), size=(count, len(arms[0])))] * len(arms)
    else:
        drawn = [random.integers(len(arm), size=(count, len(arm))) for arm in arms]
    return np.column_stack(
        [np.median(arm[own], axis=1) for arm, own in zip(arms, drawn, strict=True)]
    )


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("trials", [6, 7, 100])
def test_few_trials_are_drawn_one_by_one(trials, paired):
    arms = np.random.default_rng(1).lognormal(0, 0.03, (3, trials))
    found = resampled_medians(arms, paired=paired)
    assert (found == one_by_one(arms, paired=paired, count=RESAMPLES)).all()


def test_of_many_trials_as_many_are_drawn_as_fit_the_memory():
    arms = np.random.default_rng(1).lognormal(0, 0.03, (2, 1_200))
    found = resampled_medians(arms, paired=True)
    assert len(found) == LEAST_RESAMPLES
    assert (found == one_by_one(arms, paired=True, count=LEAST_RESAMPLES)).all()


@pytest.mark.parametrize(
    ("share", "named"),
    [
        (None, "unknown"),
        *((0.0, "undecided"), (0.799, "undecided")),
        *((0.8, "likely"), (0.949, "likely")),
        *((0.95, "sure"), (1.0, "sure")),
    ],
)
def test_a_share_of_resamples_is_named_from_the_least_on(share, named):
    assert sureness(share) == named

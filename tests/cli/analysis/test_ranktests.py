import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, wilcoxon

from pyscale.analysis import judging
from pyscale.analysis.judging import of_arms, of_blocks

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

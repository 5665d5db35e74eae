"""The front holds what nothing beats, whatever else was measured."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscale.analysis.ranks.front import with_front

# Whole numbers: ties are frequent, which is what goes wrong.
POINTS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=12)


def table(points, workers=1):
    """Points of one N, of speed and diversity."""
    return pl.DataFrame(
        {
            "workers": [workers] * len(points),
            "patch_px": [256] * len(points),
            "mpp": pl.Series([None] * len(points), dtype=pl.Float64),
            "patches_per_s": pl.Series([speed for speed, _ in points], dtype=pl.Float64),
            "effective_slides": pl.Series([slides for _, slides in points], dtype=pl.Float64),
        }
    )


def front(points):
    """Points that nothing beats."""
    found = with_front(table(list(points)), keep=0.5).filter("on_front")
    return set(found.select("patches_per_s", "effective_slides").iter_rows())


def beats(one, other):
    """Whether one is as good in both and better in one."""
    return one != other and one[0] >= other[0] and one[1] >= other[1]


@given(POINTS)
def test_nothing_beats_a_point_on_the_front(points):
    found = front(points)
    assert found
    assert not [1 for one in found for other in points if beats(other, one)]


@given(POINTS)
def test_a_point_on_the_front_beats_each_that_is_not(points):
    found = front(points)
    rest = [point for point in points if point not in found]
    assert all(any(beats(one, point) for one in found) for point in rest)


@given(POINTS, st.data())
def test_a_point_that_is_beaten_changes_nothing(points, data):
    speed, slides = data.draw(st.sampled_from(points))
    found = front(points)
    assert front([*points, (speed - 1, slides)]) == found
    assert front([(speed, slides - 1), *points]) == found


@given(POINTS)
def test_the_order_of_points_changes_nothing(points):
    assert front(points[::-1]) == front(points)


@given(POINTS, st.floats(0.01, 1.0))
def test_the_most_diverse_point_always_keeps_the_diversity(points, keep):
    found = with_front(table(list(points)), keep=keep)
    most = max(slides for _, slides in points)
    kept = found.filter("keeps_diversity")["effective_slides"].to_list()
    assert most in kept
    assert min(kept) >= keep * most


def test_points_of_another_n_or_patch_size_are_no_rivals():
    slow = table([(100, 2)])
    rivals = [
        table([(900, 9)], workers=2),
        table([(900, 9)]).with_columns(patch_px=pl.lit(128, pl.Int64)),
        table([(900, 9)]).with_columns(mpp=pl.lit(0.5)),
    ]
    found = with_front(pl.concat([slow, *rivals]), keep=0.5)
    assert found["on_front"].to_list() == [True] * 4
    assert found["keeps_diversity"].to_list() == [True] * 4


def test_of_two_that_are_as_diverse_the_slower_is_not_on_the_front():
    found = with_front(table([(640, 7.2), (400, 7.2)]), keep=0.5)
    assert found["on_front"].to_list() == [True, False]


@pytest.mark.parametrize("unknown", [(None, 9.0), (900.0, None), (None, None)])
def test_what_is_not_known_is_not_judged_and_beats_nothing(unknown):
    found = with_front(table([(100, 2), unknown]), keep=0.5)
    assert found["on_front"].to_list() == [True, None]
    assert found["keeps_diversity"].to_list() == [True, None]

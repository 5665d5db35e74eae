"""The front holds what nothing beats, whatever else was measured."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscale.analysis.ranks.loader import with_front

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
def test_nothing_beats_a_point_on_the_front_and_such_a_point_beats_each_other(points):
    found = front(points)
    assert found
    assert not [1 for one in found for other in points if beats(other, one)]
    rest = [point for point in points if point not in found]
    assert all(any(beats(one, point) for one in found) for point in rest)
    # The order of points changes nothing.
    assert front(points[::-1]) == found


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


@pytest.mark.parametrize(
    ("points", "on_front", "keeps"),
    [
        # Of two that are as diverse the slower is not.
        ([(640, 7.2), (400, 7.2)], [True, False], [True, True]),
        # What is not known is not judged, and beats nothing.
        *(
            ([(100, 2), unknown], [True, None], [True, None])
            for unknown in ((None, 9.0), (900.0, None), (None, None))
        ),
    ],
)
def test_only_known_points_that_nothing_beats_are_on_the_front(points, on_front, keeps):
    found = with_front(table(points), keep=0.5)
    assert found["on_front"].to_list() == on_front
    assert found["keeps_diversity"].to_list() == keeps

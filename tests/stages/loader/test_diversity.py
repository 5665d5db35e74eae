from __future__ import annotations

from math import sqrt

import pytest

from pyscale_stages.loader.diversity import diversity_of, effective_slides, mean_distance_px
from pyscale_stages.loader.items import Places


def test_equal_shares_count_as_so_many_slides() -> None:
    assert effective_slides(["a", "b", "c", "d"] * 5) == pytest.approx(4)


def test_a_slide_that_most_patches_are_of_counts_for_most() -> None:
    assert effective_slides(["a"] * 9 + ["b"]) == pytest.approx(1 / (0.81 + 0.01))


def test_slides_that_follow_each_other_in_long_runs_are_not_mixed() -> None:
    in_turn = ["a"] * 10 + ["b"] * 10
    assert effective_slides(in_turn, run_patches=10) == 1
    assert effective_slides(["a", "b"] * 10, run_patches=10) == pytest.approx(2)


def test_chances_are_averaged_over_runs_and_not_their_inverses() -> None:
    # A run of one slide, a run of two: the chance of a pair is 1 and 1/2.
    assert effective_slides(["a"] * 4 + ["a", "b"] * 2, run_patches=4) == pytest.approx(4 / 3)


def test_a_last_run_that_is_shorter_does_not_count() -> None:
    assert effective_slides(["a", "b"] * 2 + ["a"], run_patches=4) == pytest.approx(2)


def test_the_distance_is_between_patches_of_one_slide_in_one_batch() -> None:
    batch = Places(("a", "b", "a", "a"), (0, 500, 3, 0), (0, 500, 4, 4))
    # Three pairs of slide a: 5, 4 and 3 px.
    assert mean_distance_px([batch]) == pytest.approx(4)


def test_each_pair_counts_alike_in_whatever_batch() -> None:
    near = Places(("a",) * 3, (0, 0, 0), (0, 0, 0))
    far = Places(("a",) * 2, (0, 1), (0, 1))
    assert mean_distance_px([near, far]) == pytest.approx(sqrt(2) / 4)


def test_no_distance_is_known_where_no_batch_has_two_of_a_slide() -> None:
    found = diversity_of([Places(("a", "b"), (0, 1), (0, 1))])
    assert found is not None
    assert found.distance_px is None
    assert (found.patches, found.slides_per_batch) == (2, 2)


def test_slides_are_counted_where_their_places_are_unknown() -> None:
    found = diversity_of([Places(("a", "a")), Places(("a", "b"))])
    assert found is not None
    assert (found.distance_px, found.slides_per_batch) == (None, 1.5)


def test_nothing_is_said_where_a_batch_does_not_say_its_slides() -> None:
    assert diversity_of([Places(("a",)), None]) is None
    assert diversity_of([]) is None

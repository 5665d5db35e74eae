from __future__ import annotations

from math import sqrt

import pytest

from pyscale_stages.loader.items import Places, diversity_of, effective_slides, mean_distance_px


@pytest.mark.parametrize(
    ("slides", "run_patches", "effective"),
    [
        ("abcd" * 5, None, 4),
        # Most patches are of one slide.
        ("a" * 9 + "b", None, 1 / (0.81 + 0.01)),
        # Slides that follow each other in long runs are not mixed.
        ("a" * 10 + "b" * 10, 10, 1),
        ("ab" * 10, 10, 2),
        # Chances are averaged and not their inverses: of a pair it is 1 in one run, 1/2 in another.
        ("aaaa" + "abab", 4, 4 / 3),
        # A last run that is shorter does not count.
        ("abab" + "a", 4, 2),
    ],
)
def test_effective_slides_are_the_inverse_chance_of_a_pair(slides, run_patches, effective):
    runs = {} if run_patches is None else {"run_patches": run_patches}
    assert effective_slides([*slides], **runs) == pytest.approx(effective)


def test_the_distance_is_between_patches_of_one_slide_in_one_batch():
    batch = Places(("a", "b", "a", "a"), (0, 500, 3, 0), (0, 500, 4, 4))
    # Three pairs of slide a: 5, 4 and 3 px.
    assert mean_distance_px([batch]) == pytest.approx(4)


def test_each_pair_counts_alike_in_whatever_batch():
    near = Places(("a",) * 3, (0, 0, 0), (0, 0, 0))
    far = Places(("a",) * 2, (0, 1), (0, 1))
    assert mean_distance_px([near, far]) == pytest.approx(sqrt(2) / 4)


def test_no_distance_is_known_where_no_batch_has_two_of_a_slide():
    found = diversity_of([Places(("a", "b"), (0, 1), (0, 1))])
    assert found is not None
    assert found.distance_px is None
    assert (found.patches, found.slides_per_batch) == (2, 2)


def test_slides_are_counted_where_their_places_are_unknown():
    found = diversity_of([Places(("a", "a")), Places(("a", "b"))])
    assert found is not None
    assert (found.distance_px, found.slides_per_batch) == (None, 1.5)


def test_nothing_is_said_where_a_batch_does_not_say_its_slides():
    assert diversity_of([Places(("a",)), None]) is None
    assert diversity_of([]) is None

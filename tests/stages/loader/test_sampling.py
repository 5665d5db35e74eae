"""Where patches lie, on slides that are only as large as they say."""

from pathlib import Path

import numpy as np
import pytest

from atleastone import some
from pyscale_stages.errors import BadInput
from pyscale_stages.loader.keptslides import Place, Places
from pyscale_stages.slides.slide import Slide, levels_of
from pyscale_stages.slides.tissue import LEAST_TISSUE, TissueMap
from refusals import refused


class Sized(Slide):
    """A slide that has a size and no pixels."""

    path = Path("made/up.svs")
    mpp = None
    channels = 3
    dtype = np.dtype(np.uint8)

    def __init__(self, *shapes, planes=1):
        self.levels = levels_of(list(shapes))
        self.planes = planes

    def _pixels(self, region):
        raise NotImplementedError

    def close(self):
        pass


def drawn(places, count, seed=1):
    generator = np.random.default_rng(seed)
    found = [places.draw(generator) for _ in range(count)]
    return [place for place in found if place is not None]


def half_of_tissue():
    """A slide of 400 x 400 pixels at a tenth of its size, with tissue on the right."""
    mask = np.zeros((40, 40), dtype=np.bool_)
    mask[:, 20:] = True
    return TissueMap(mask, 10.0)


def test_patches_lie_inside_the_slide_and_reach_its_edges():
    places = drawn(Places(Sized((12, 20)), 0, 10, None), 500)
    assert {place.x for place in places} == set(range(11))
    assert {place.y for place in places} == set(range(3))
    assert set(drawn(Places(Sized((10, 10)), 0, 10, None), 20)) == {Place(0, 0)}
    coarser = drawn(Places(Sized((400, 400), (100, 100)), 1, 90, None), 500)
    assert (max(place.x for place in coarser), max(place.y for place in coarser)) == (40, 40)


def test_patches_have_enough_tissue():
    places = drawn(Places(Sized((400, 400)), 0, 100, half_of_tissue()), 300)
    shares = [min(1.0, max(0.0, (place.x // 10 + 10 - 20) / 10)) for place in places]
    assert min(shares) == LEAST_TISSUE
    assert len(places) == 300


def test_each_plane_of_a_stack_gives_patches():
    places = drawn(Places(Sized((20, 20), planes=3), 0, 10, None), 100)
    assert {place.plane for place in places} == {0, 1, 2}


def test_the_same_seed_gives_the_same_places():
    def first(seed):
        return drawn(Places(Sized((400, 400)), 0, 100, half_of_tissue()), 20, seed)

    assert first(3) == first(3)
    assert first(3) != first(4)


def test_a_slide_with_little_tissue_gives_up_its_turn_and_one_without_is_refused_by_name():
    mask = np.zeros((1000, 1000), dtype=np.bool_)
    mask[:10, :10] = True
    places = Places(Sized((1000, 1000)), 0, 10, TissueMap(mask, 1.0))
    assert places.draw(np.random.default_rng(0)) is None
    empty = TissueMap(np.zeros((40, 40), dtype=np.bool_), 10.0)
    places = Places(Sized((400, 400)), 0, 100, empty)
    with refused(BadInput):
        places.draw(np.random.default_rng(0))


@pytest.mark.parametrize(
    ("shapes", "patch_px"),
    [
        ([(90, 400)], 100),
        ([(400, 400), (100, 100)], 101),
    ],
    ids=str,
)
def test_a_level_smaller_than_a_patch_is_refused_by_name(shapes, patch_px):
    with refused(BadInput):
        Places(Sized(*shapes), len(shapes) - 1, patch_px, None)


@pytest.mark.parametrize("side_px", [1, 35, 100, 300])
def test_tissue_is_found_anywhere_if_and_only_if_some_place_has_it(side_px):
    generator = np.random.default_rng(side_px)
    for share in (0.0, 0.1, 0.3, 0.5):
        tissue = TissueMap(generator.random((40, 30)) < share, 10.0)
        places = [
            tissue.fills(x, y, side_px)
            for x in range(0, 300 - side_px + 1, 10)
            for y in range(0, 400 - side_px + 1, 10)
        ]
        assert tissue.fills_anywhere(side_px) == any(some(places))

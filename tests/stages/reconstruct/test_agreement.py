"""Tiles may change an image at its edge; nothing may change it elsewhere."""

import numpy as np
import pytest

from pyscale_stages.reconstruct.output import EDGE_PX

SIZE_PX = 128
TILES = {"size_px": SIZE_PX, "tile_px": 64, "overlap_px": 56}
"""Of which some pixel's whole view lies in one window."""


@pytest.fixture
def image():
    return np.random.default_rng(0).standard_normal((3, SIZE_PX, SIZE_PX), np.float32)


@pytest.fixture
def compare(write_output, bench):
    def compared(reference, other):
        one = write_output("one", reference, **TILES)
        return bench.agreement(one, write_output("two", other, 0, 2, **TILES), **TILES)

    return compared


def test_an_image_agrees_with_itself_and_with_one_of_another_edge_which_is_told(compare, image):
    agreement = compare(image, image)
    assert (agreement.same, agreement.identical, agreement.score) == (True, True, 1)
    assert agreement.details == {"interior_deviation": 0, "border_deviation": 0}
    other = image.copy()
    other[:, :2] *= -1
    agreement = compare(image, other)
    assert (agreement.same, agreement.identical, agreement.score) == (True, False, 1)
    expected = 2 * np.abs(image[:, :2]).max() / np.abs(image).max()
    told = {"interior_deviation": 0, "border_deviation": expected}
    assert agreement.details == pytest.approx(told)


def test_a_pixel_that_no_tile_may_change_is_told(compare, image):
    other = image.copy()
    other[1, SIZE_PX // 2, SIZE_PX // 2] += 0.1
    agreement = compare(image, other)
    assert agreement.same
    inner = image[:, EDGE_PX:-EDGE_PX, EDGE_PX:-EDGE_PX]
    assert agreement.score == pytest.approx(1 - 0.1 / np.linalg.norm(inner))
    told = {"interior_deviation": 0.1 / np.abs(image).max(), "border_deviation": 0}
    assert agreement.details == pytest.approx(told, rel=1e-4)


FAULTS = {
    "a tile is missing": lambda image: np.where(MISSING, 0, image),
    "tiles changed places": lambda image: np.roll(image, 64, axis=1),
    "moved by a pixel": lambda image: np.roll(image, 1, axis=2),
}
MISSING = np.zeros((SIZE_PX, SIZE_PX), np.bool_)
MISSING[56:72, 56:72] = True


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_image_is_found(compare, image, fault):
    agreement = compare(image, FAULTS[fault](image))
    assert not agreement.same
    assert agreement.score < agreement.tolerance


def test_images_of_nothing_are_the_same(compare, image):
    nothing = np.zeros_like(image)
    assert compare(nothing, nothing).same
    assert compare(nothing, image).score == 0


def test_images_of_two_sizes_are_not_compared(write_output, bench, image):
    folders = write_output("a", image, **TILES), write_output("b", image[:, 64:, 64:])
    bench.refused("check", *folders)

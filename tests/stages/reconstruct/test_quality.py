"""Distance from the truth."""

from __future__ import annotations

import numpy as np
import pytest

from pyscale_stages.reconstruct.run import psnr_db

TRUTH = np.random.default_rng(0).random((3, 16, 16), np.float32)


def test_an_error_of_a_tenth_everywhere_is_twenty_decibels() -> None:
    assert psnr_db(TRUTH + np.float32(0.1), TRUTH) == pytest.approx(20, abs=1e-4)


def test_only_the_pixels_that_count_are_compared() -> None:
    found, where = TRUTH.copy(), np.zeros((16, 16), np.bool_)
    where[4:12, 4:12] = True
    found[:, where] += np.float32(0.01)
    found[:, ~where] += 1
    assert psnr_db(found, TRUTH, where) == pytest.approx(40, abs=1e-2)
    assert psnr_db(found, TRUTH, ~where) == pytest.approx(0, abs=1e-4)


def test_equal_images_and_no_pixels_have_no_ratio() -> None:
    assert psnr_db(TRUTH, TRUTH) is None
    assert psnr_db(TRUTH + 1, TRUTH, np.zeros((16, 16), np.bool_)) is None

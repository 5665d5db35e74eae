"""Synthetic frames of a counting camera."""

import numpy as np
import pytest

from pyscale_stages.movieformats.codecs import Camera, counting_frames

SMALL = Camera(frames=3, height_px=300, width_px=500, dose_per_px=0.25)


def drawn(camera, seed):
    return np.stack(list(counting_frames(camera, seed)))


def test_the_same_seed_gives_the_same_frames_and_no_two_of_a_movie_are_the_same():
    assert np.array_equal(drawn(SMALL, 3), drawn(SMALL, 3))
    assert not np.array_equal(drawn(SMALL, 3), drawn(SMALL, 4))
    first, second, third = drawn(SMALL, 0)
    assert not np.array_equal(first, second)
    assert not np.array_equal(second, third)
    longer = SMALL.model_copy(update={"frames": 4})
    assert np.array_equal(drawn(longer, 1)[:3], drawn(SMALL, 1))


def test_counts_are_those_of_electrons_that_arrive_independently():
    """Of a Poisson variable the variance is the mean, and exp(-mean) of the pixels stay empty."""
    counts = drawn(SMALL, 0)
    # Five standard errors of the mean of 450,000 pixels.
    assert counts.mean() == pytest.approx(0.25, abs=5 * 0.5 / np.sqrt(counts.size))
    assert counts.var() == pytest.approx(0.25, rel=0.02)
    assert (counts == 0).mean() == pytest.approx(np.exp(-0.25), rel=0.01)

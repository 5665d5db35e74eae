"""Synthetic frames of a counting camera."""

from __future__ import annotations

import numpy as np
import pytest

from pyscale_stages.movieformats.counting import PRESETS, Camera, counting_frames

SMALL = Camera(frames=3, height_px=300, width_px=500, dose_per_px=0.25)


def drawn(camera: Camera, seed: int) -> np.ndarray:
    return np.stack(list(counting_frames(camera, seed)))


def test_the_same_seed_gives_the_same_frames_and_another_others():
    assert np.array_equal(drawn(SMALL, 3), drawn(SMALL, 3))
    assert not np.array_equal(drawn(SMALL, 3), drawn(SMALL, 4))


def test_no_two_frames_of_a_movie_are_the_same():
    first, second, third = drawn(SMALL, 0)
    assert not np.array_equal(first, second)
    assert not np.array_equal(second, third)


def test_a_longer_movie_begins_with_the_frames_of_a_shorter_one():
    longer = SMALL.model_copy(update={"frames": 4})
    assert np.array_equal(drawn(longer, 1)[:3], drawn(SMALL, 1))


def test_counts_are_those_of_electrons_that_arrive_independently():
    """Of a Poisson variable the variance is the mean, and exp(-mean) of the pixels stay empty."""
    counts = drawn(SMALL, 0)
    # Five standard errors of the mean of 450,000 pixels.
    assert counts.mean() == pytest.approx(0.25, abs=5 * 0.5 / np.sqrt(counts.size))
    assert counts.var() == pytest.approx(0.25, rel=0.02)
    assert (counts == 0).mean() == pytest.approx(np.exp(-0.25), rel=0.01)


def test_a_frame_of_many_blocks_has_electrons_up_to_its_last_row(monkeypatch):
    monkeypatch.setattr("pyscale_stages.movieformats.counting._BLOCK_PX", 1000)
    (frame,) = drawn(Camera(frames=1, height_px=70, width_px=130, dose_per_px=1), 0)
    assert frame.any(axis=1).all()


def test_a_camera_without_electrons_gives_empty_frames():
    assert not drawn(SMALL.model_copy(update={"dose_per_px": 0.0}), 0).any()


def test_presets_have_the_published_sizes():
    sizes = {name: (c.width_px, c.height_px, c.frames) for name, c in PRESETS.items()}
    assert sizes == {"k3": (11520, 8184, 70), "falcon4": (4096, 4096, 48), "k2": (3710, 3838, 44)}

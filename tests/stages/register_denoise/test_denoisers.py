from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from pyscale_stages.register_denoise.denoisers import denoise, noise_warnings
from pyscale_stages.register_denoise.frames import FloatImage
from pyscale_stages.register_denoise.params import RegisterDenoiseParams

SHAPE = (128, 160)
DENOISERS = ("wavelet", "nlm", "ants")


def with_denoiser(name: str, **more: Any) -> RegisterDenoiseParams:
    return RegisterDenoiseParams.model_validate({"denoiser": name} | more)


def seen_by_a_camera(clean: FloatImage, gain: float = 20) -> FloatImage:
    """Counts with the noise of photons; `clean` stands on an offset of 100 counts."""
    electrons = np.random.default_rng(0).poisson(np.maximum(clean - 100, 0) / gain)
    read = np.random.default_rng(1).normal(0, 1.4 * gain, clean.shape)
    return (100 + gain * electrons + read).astype(np.float32)


@pytest.mark.parametrize(
    ("params", "left"),
    [
        (with_denoiser("wavelet"), 0.5),
        (with_denoiser("nlm"), 0.6),
        (with_denoiser("ants"), 0.8),
        (with_denoiser("ants", noise_model="Rician"), 0.8),
    ],
)
def test_denoising_brings_a_noisy_frame_nearer_to_the_clean_one(specimen, params, left):
    clean = specimen(SHAPE)
    frame = seen_by_a_camera(clean)

    denoised = denoise(frame, params)

    assert denoised.fallback is None
    assert denoised.pixels.dtype == np.float32
    assert np.std(denoised.pixels - clean) < left * np.std(frame - clean)


@pytest.mark.parametrize("name", ["wavelet", "nlm"])
def test_the_brightest_tenth_stays_as_bright(specimen, name):
    clean = specimen(SHAPE)
    bright = clean >= np.quantile(clean, 0.9)
    error = denoise(seen_by_a_camera(clean), with_denoiser(name)).pixels - clean
    assert abs(error[bright].mean()) < 0.02 * np.ptp(clean)


@pytest.mark.parametrize("name", ["wavelet", "nlm"])
def test_even_noise_about_negative_values_is_taken_out_and_said(specimen, name):
    clean = specimen(SHAPE) - 5000
    frame = (clean + np.random.default_rng(0).normal(0, 60, SHAPE)).astype(np.float32)
    denoised = denoise(frame, with_denoiser(name))
    assert denoised.fallback == "even"
    assert np.std(denoised.pixels - clean) < 0.6 * 60


@pytest.mark.parametrize("name", DENOISERS)
def test_a_frame_of_one_value_is_left_as_it_is(name):
    frame = np.full((32, 32), 7, np.float32)
    assert np.array_equal(denoise(frame, with_denoiser(name)).pixels, frame)


@pytest.mark.parametrize("name", ["wavelet", "nlm"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 2), (15, 15), (16, 16), (23, 17)])
def test_frames_of_any_size_stay_finite_and_need_no_word_of_a_library(name, shape):
    frame = np.random.default_rng(0).poisson(20, shape).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        denoised = denoise(frame, with_denoiser(name))
    assert denoised.pixels.shape == shape
    assert np.isfinite(denoised.pixels).all()
    assert (denoised.fallback == "none") == (min(shape) < 16)


def test_images_whose_noise_is_not_a_cameras_are_counted_by_kind():
    even, none = noise_warnings(["even", None, "none", "even"])
    assert even.sentence.startswith("2 of 4 images do not show noise that grows with brightness")
    assert none.sentence == (
        "1 of 4 images show no noise that can be estimated, so they were not denoised"
    )
    assert not any(warning.is_said for one in ([None], []) for warning in noise_warnings(one))

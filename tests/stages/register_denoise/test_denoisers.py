import warnings

import numpy as np
import pytest

from pyscale_stages.register_denoise.denoisers import (
    CameraNoise,
    camera_noise,
    denoise,
)
from pyscale_stages.register_denoise.params import RegisterDenoiseParams

SHAPE = (128, 160)


def with_denoiser(name):
    return RegisterDenoiseParams(denoiser=name)


def seen_by_a_camera(clean, gain=20):
    """Counts with the noise of photons; `clean` stands on an offset of 100 counts."""
    electrons = np.random.default_rng(0).poisson(np.maximum(clean - 100, 0) / gain)
    read = np.random.default_rng(1).normal(0, 1.4 * gain, clean.shape)
    return (100 + gain * electrons + read).astype(np.float32)


@pytest.mark.parametrize(
    ("params", "left"),
    [
        (with_denoiser("wavelet"), 0.5),
        (with_denoiser("ants"), 0.8),
    ],
)
def test_denoising_brings_a_noisy_frame_nearer_to_the_clean_one(specimen, params, left):
    clean = specimen(SHAPE)
    frame = seen_by_a_camera(clean)

    denoised = denoise(frame, params)

    assert denoised.fallback is None
    assert denoised.pixels.dtype == np.float32
    assert np.std(denoised.pixels - clean) < left * np.std(frame - clean)


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 2), (15, 15), (16, 16), (23, 17)])
def test_frames_of_any_size_stay_finite_and_need_no_word_of_a_library(shape):
    frame = np.random.default_rng(0).poisson(20, shape).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        denoised = denoise(frame, RegisterDenoiseParams())
    assert denoised.pixels.shape == shape
    assert np.isfinite(denoised.pixels).all()
    assert (denoised.fallback == "none") == (min(shape) < 16)


GAIN, READ_NOISE, OFFSET = 2.0, 1.4, 100.0
INTERCEPT = (GAIN * READ_NOISE) ** 2 - GAIN * OFFSET


def counted(photons, seed=0):
    rng = np.random.default_rng(seed)
    electrons = rng.poisson(photons) + READ_NOISE * rng.standard_normal(photons.shape)
    return OFFSET + GAIN * electrons


def blobs(peak_photons):
    y, x = np.mgrid[:256, :256]
    return peak_photons * np.sin(y / 20) ** 2 * np.sin(x / 20) ** 2


@pytest.mark.parametrize("peak_photons", [20, 100, 1000])
def test_gain_and_noise_in_the_dark_are_found_from_one_frame(peak_photons):
    noise = camera_noise(counted(blobs(peak_photons)))
    assert noise.gain == pytest.approx(GAIN, rel=0.15)
    in_the_dark = noise.gain * OFFSET + noise.intercept
    assert in_the_dark == pytest.approx((GAIN * READ_NOISE) ** 2, abs=2 + 0.02 * peak_photons)


@pytest.mark.parametrize(
    "frame",
    [
        np.full((64, 64), 7.0),
        np.random.default_rng(0).normal(100, 5, (64, 64)),
        blobs(1000) + np.random.default_rng(0).normal(-500, 5, (256, 256)),
        np.eye(8),
    ],
    ids=["one value", "even noise", "even noise and negative values", "few pixels"],
)
def test_noise_that_does_not_grow_with_brightness_is_not_a_cameras(frame):
    assert camera_noise(frame) is None


@pytest.mark.parametrize("photons", [0, 1, 5, 20, 100, 1000])
def test_the_inverse_of_the_mean_is_the_mean_to_a_twentieth_of_a_photon(photons):
    noise = CameraNoise(GAIN, INTERCEPT)
    stable = noise.stabilise(counted(np.full((1000, 1000), float(photons))))
    if photons >= 5:
        assert stable.std() == pytest.approx(1, abs=0.03)
    restored = noise.restore(np.array([stable.mean()]))[0]
    assert restored == pytest.approx(OFFSET + GAIN * photons, abs=0.05 * GAIN)

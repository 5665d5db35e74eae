from __future__ import annotations

import numpy as np
import pytest

from pyscale_stages.register_denoise.denoisers import CameraNoise, Image, camera_noise

GAIN, READ_NOISE, OFFSET = 2.0, 1.4, 100.0
INTERCEPT = (GAIN * READ_NOISE) ** 2 - GAIN * OFFSET


def counted(photons: Image, seed: int = 0) -> Image:
    rng = np.random.default_rng(seed)
    electrons = rng.poisson(photons) + READ_NOISE * rng.standard_normal(photons.shape)
    counts: Image = OFFSET + GAIN * electrons
    return counts


def blobs(peak_photons: float) -> Image:
    y, x = np.mgrid[:256, :256]
    photons: Image = peak_photons * np.sin(y / 20) ** 2 * np.sin(x / 20) ** 2
    return photons


@pytest.mark.parametrize("peak_photons", [20, 100, 1000])
def test_gain_and_noise_in_the_dark_are_found_from_one_frame(peak_photons):
    noise = camera_noise(counted(blobs(peak_photons)))
    assert noise is not None
    assert noise.gain == pytest.approx(GAIN, rel=0.15)
    in_the_dark = noise.gain * OFFSET + noise.intercept
    assert in_the_dark == pytest.approx((GAIN * READ_NOISE) ** 2, abs=2 + 0.02 * peak_photons)


def test_hot_pixels_and_filled_areas_do_not_change_the_estimate():
    frame = counted(blobs(100))
    known = camera_noise(frame)
    frame[::40, ::40] = 65_535
    frame[:, :64] = 0
    found = camera_noise(frame)
    assert known is not None
    assert found is not None
    assert found.gain == pytest.approx(known.gain, rel=0.2)


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

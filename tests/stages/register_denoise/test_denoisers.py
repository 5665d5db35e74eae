from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyscale_stages.register_denoise.denoisers import denoise
from pyscale_stages.register_denoise.params import RegisterDenoiseParams

SHAPE = (96, 128)
Draw = Callable[..., Any]


@pytest.mark.parametrize("noise_model", ["Gaussian", "Rician"])
def test_denoising_brings_a_noisy_frame_nearer_to_the_clean_one(
    specimen: Draw, noise_model: str
) -> None:
    clean = specimen(SHAPE)
    noise = np.random.default_rng(0).normal(0, 60, SHAPE)
    frame = (clean + noise).astype(np.float32)
    params = RegisterDenoiseParams.model_validate({"noise_model": noise_model})

    error = np.sqrt(np.mean((denoise(frame, params) - clean) ** 2))

    assert error < 0.8 * 60


def test_denoising_leaves_a_frame_of_one_value_as_it_is() -> None:
    frame = np.full((32, 32), 7, np.float32)
    assert np.array_equal(denoise(frame, RegisterDenoiseParams()), frame)

"""The denoisers of a frame."""

from __future__ import annotations

import numpy as np

from pyscale_stages.register_denoise.frames import FloatImage
from pyscale_stages.register_denoise.params import RegisterDenoiseParams


def denoise(image: FloatImage, params: RegisterDenoiseParams) -> FloatImage:
    """Denoise one frame of one channel by adaptive non-local means (Manjon et al. 2010)."""
    import ants

    denoised = ants.denoise_image(
        ants.from_numpy(image),
        shrink_factor=params.denoise_shrink_factor,
        p=params.patch_radius_px,
        r=params.search_radius_px,
        noise_model=params.noise_model,
    )
    pixels: FloatImage = denoised.numpy().astype(np.float32, copy=False)
    return pixels

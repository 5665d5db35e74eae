"""The denoisers of a frame, each by a library's own function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from pyscale_stages.register_denoise.frames import FloatImage
from pyscale_stages.register_denoise.noise import Image, camera_noise
from pyscale_stages.register_denoise.params import RegisterDenoiseParams
from pyscale_stages.warned import Warned

WAVELET = "sym4"
WAVELET_LEVELS = 3
"""Deeper levels hold what is shown; their noise is small."""
MIN_SIDE_PX = 16
"""Sides of an image that noise can be told from; the wavelet has 8 taps."""
SHIFTS_PX = 2
"""Mean over all shifts by up to so much along each axis: wavelets alone leave blocks."""

Fallback = Literal["even", "none"]
"""Noise that does not grow with brightness, or none that can be estimated."""
WHAT_WAS_DONE: dict[Fallback, tuple[str, str]] = {
    "even": (
        "noise-unlike-camera",
        "do not show noise that grows with brightness, as a camera's does, so they were denoised "
        "as if it were uniform",
    ),
    "none": (
        "noise-unknown",
        "show no noise that can be estimated, so they were not denoised",
    ),
}


class Denoised(NamedTuple):
    """A denoised image, and what its noise was taken for where not for a camera's."""

    pixels: FloatImage
    fallback: Fallback | None = None


def import_denoiser(params: RegisterDenoiseParams) -> None:
    """Import what the denoiser calls, so that importing is not taken for computing."""
    if params.denoiser == "ants":
        import ants  # noqa: F401
    elif params.denoiser != "none":
        import pywt  # noqa: F401
        import scipy.stats  # noqa: F401

        # scikit-image loads a module when a name of it is asked for.
        from skimage.restoration import cycle_spin, denoise_nl_means  # noqa: F401


def denoise(image: FloatImage, params: RegisterDenoiseParams) -> Denoised:
    """Denoise one frame (Y, X) of one channel by itself."""
    if params.denoiser == "ants":
        return Denoised(_ants(image, params))
    if np.ptp(image) == 0 or min(image.shape) < MIN_SIDE_PX:
        return Denoised(image, "none")
    raw = image.astype(np.float64)
    noise = camera_noise(raw)
    if noise is None:
        denoised = _of_even_noise(raw, params)
    else:
        stable = _of_even_noise(noise.stabilise(raw), params)
        denoised = None if stable is None else noise.restore(stable)
    if denoised is None:
        return Denoised(image, "none")
    return Denoised(denoised.astype(np.float32), "even" if noise is None else None)


def noise_warnings(fallbacks: Sequence[Fallback | None]) -> list[Warned]:
    """Count the images whose noise was not a camera's; an image is a frame of a channel."""
    return [
        Warned(
            code=code,
            text=text,
            concerned=fallbacks.count(kind),
            seen=len(fallbacks),
            unit="images",
        )
        for kind, (code, text) in WHAT_WAS_DONE.items()
    ]


def _of_even_noise(image: Image, params: RegisterDenoiseParams) -> Image | None:
    """Denoise an image whose noise is the same everywhere; None where it has none."""
    from skimage.restoration import estimate_sigma

    # Estimated anew: the noise of pixels that were interpolated or compressed is less than the
    # line through its variances says.
    sigma = float(estimate_sigma(image))  # type: ignore[no-untyped-call]
    if not sigma > 0:
        return None
    return (_wavelet if params.denoiser == "wavelet" else _nlm)(image, sigma)


def _wavelet(image: Image, sigma: float) -> Image:
    """Hard thresholds of BayesShrink (Chang et al. 2000), which keep peaks as bright as they are.

    Soft ones gain as much and darken the brightest tenth by up to three times as much.
    """
    import pywt
    from skimage.restoration import cycle_spin, denoise_wavelet

    levels = min(WAVELET_LEVELS, pywt.dwtn_max_level(image.shape, WAVELET))
    options = {"sigma": sigma, "wavelet": WAVELET, "mode": "hard", "wavelet_levels": levels}
    denoised: Image = cycle_spin(
        image, denoise_wavelet, max_shifts=SHIFTS_PX, func_kw=options, workers=1
    )
    return denoised


def _nlm(image: Image, sigma: float) -> Image:
    """Non-local means (Buades et al. 2005; fast by Darbon et al. 2008)."""
    from skimage.restoration import denoise_nl_means

    denoised: Image = denoise_nl_means(
        image, patch_size=5, patch_distance=4, h=0.6 * sigma, sigma=sigma
    )
    return denoised


def _ants(image: FloatImage, params: RegisterDenoiseParams) -> FloatImage:
    """Adaptive non-local means (Manjon et al. 2010), as ANTs has it."""
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

"""A camera's noise, estimated from one frame, and the denoisers, each a library's own function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from pyscale_stages.measured import Warned
from pyscale_stages.register_denoise.frames import FloatImage
from pyscale_stages.register_denoise.params import RegisterDenoiseParams

BINS = 40
MIN_BLOCKS = 64
"""Blocks of 2 x 2 pixels in a bin: their median is then within a sixth of the true deviation."""
SIGMA_OF_MEDIAN = 1 / 0.6745
"""Standard deviation of a Gaussian over the median of its absolute values."""

Z_50 = 0.6744897501960817
"""Standard deviations on either side of a normal mean that hold 50 %."""

Image = npt.NDArray[np.float64]
SQRT_3_2 = float(np.sqrt(1.5))
DARKEST = 2 * float(np.sqrt(3 / 8))
"""Stabilised value of a pixel without light or read noise: none is expected below it."""
WAVELET = "sym4"
SIGMA_WAVELET = "db2"
WAVELET_LEVELS = 3
"""Deeper levels hold what is shown; their noise is small."""
MIN_SIDE_PX = 16
"""Sides of an image that noise can be told from; the wavelet has 8 taps."""
EDGE_PX = 16
"""Of the image, mirrored around it: the transform takes its opposite sides for neighbours."""
Fallback = Literal["even", "none"]
"""Noise that does not grow with brightness, or none that can be estimated."""
WHAT_WAS_DONE: dict[Fallback, tuple[str, str]] = {
    "even": (
        "noise-unlike-camera",
        "do not show noise that grows with brightness, as a camera's does, so they were denoised "
        "as if it were uniform",
    ),
    "none": ("noise-unknown", "show no noise that can be estimated, so they were not denoised"),
}


@dataclass(frozen=True)
class CameraNoise:
    """Noise of photons and reading, of variance `gain * value + intercept` in counts^2."""

    gain: float
    intercept: float

    def stabilise(self, image: Image) -> Image:
        """Make the noise's deviation 1: the generalised Anscombe transform (Starck et al. 1998)."""
        gain = self.gain
        variance = gain * image + 3 / 8 * gain**2 + self.intercept
        return np.asarray(2 / gain * np.sqrt(np.maximum(variance, 0)))

    def restore(self, stable: Image) -> Image:
        """Counts of a denoised stabilised image, by the closed form of the unbiased inverse.

        Mäkitalo and Foi, IEEE Transactions on Image Processing 22, 91 (2013); the algebraic one is
        too dark.
        """
        d = np.maximum(stable, DARKEST)
        photons = d**2 / 4 + SQRT_3_2 / 4 / d - 11 / 8 / d**2 + 5 / 8 * SQRT_3_2 / d**3 - 1 / 8
        return np.asarray(self.gain * photons - self.intercept / self.gain)


def camera_noise(image: Image) -> CameraNoise | None:
    """Estimate the noise of one frame of one channel from its own pixels.

    From the diagonal differences of 2 x 2 pixels: medians in bins of brightness leave out edges, a
    line of median slope (Theil-Sen) the bins that are mostly edges (Foi et al., IEEE Transactions
    on Image Processing 17, 1737, 2008). None where noise does not grow with brightness.
    """
    from scipy.stats import theilslopes

    brightness, variance, weight = _variance_by_brightness(image)
    if len(brightness) < 2:
        return None
    gain, _, least_gain, _ = theilslopes(variance, brightness)
    if not least_gain > 0:
        # Not even the sign is certain.
        return None
    # The weighted median of what is left: most pixels are dark, and there the noise must be right.
    rest = variance - gain * brightness
    order = np.argsort(rest)
    half = np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)
    intercept = float(rest[order][half])
    return CameraNoise(float(gain), intercept)


def _variance_by_brightness(image: Image) -> tuple[Image, Image, Image]:
    """Brightness, noise variance and number of blocks of each bin, the darkest first."""
    from scipy.ndimage import median_filter

    height, width = (side // 2 * 2 for side in image.shape)
    rows = image[:height:2, :width], image[1:height:2, :width]
    a, b, c, d = (row[:, start::2] for row in rows for start in (0, 1))
    # The noise of four pixels together has twice the deviation of one's.
    difference = np.abs(a - b - c + d) / 2
    # A hot pixel has the brightness of its neighbours.
    mean = median_filter((a + b + c + d) / 4, 3)
    # Blocks of one value are clipped or filled, and without noise.
    noisy = (a != b) | (c != d) | (a != c)
    mean, difference = mean[noisy], difference[noisy]
    if not mean.size:
        return (np.empty(0),) * 3
    order = np.argsort(mean)
    mean, difference = mean[order], difference[order]
    ends = np.searchsorted(mean, np.linspace(mean[0], mean[-1], BINS + 1)[1:-1])
    found = [
        (m.mean(), (SIGMA_OF_MEDIAN * np.median(d)) ** 2, len(m))
        for m, d in zip(np.split(mean, ends), np.split(difference, ends), strict=True)
        if len(m) >= MIN_BLOCKS
    ]
    brightness, variance, weight = np.array(found, float).reshape(-1, 3).T
    return brightness, variance, weight


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
        import scipy.ndimage
        import scipy.stats  # noqa: F401


def denoise(image: FloatImage, params: RegisterDenoiseParams) -> Denoised:
    """Denoise one frame (Y, X) of one channel by itself."""
    if params.denoiser == "ants":
        return Denoised(_ants(image))
    if np.ptp(image) == 0 or min(image.shape) < MIN_SIDE_PX:
        return Denoised(image, "none")
    raw = image.astype(np.float64)
    noise = camera_noise(raw)
    if noise is None:
        denoised = _of_even_noise(raw)
    else:
        stable = _of_even_noise(noise.stabilise(raw))
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


def _of_even_noise(image: Image) -> Image | None:
    """Denoise an image whose noise is the same everywhere; None where it has none."""
    import pywt

    # Estimated anew: the noise of pixels that were interpolated or compressed is less than the
    # line through its variances says. By the finest wavelets (Donoho and Johnstone, Biometrika 81,
    # 425, 1994), of which those that are 0 were filled.
    finest = pywt.dwtn(image, SIGMA_WAVELET)["dd"]
    finest = np.abs(finest[finest != 0])
    return _wavelet(image, float(np.median(finest)) / Z_50) if finest.size else None


def _wavelet(image: Image, sigma: float) -> Image:
    """Hard thresholds of BayesShrink (Chang et al. 2000): soft ones darken the brightest more.

    The stationary transform is the mean over all shifts in one: wavelets alone leave blocks.
    """
    import pywt

    levels = min(WAVELET_LEVELS, pywt.dwtn_max_level(image.shape, WAVELET))
    # Sides must be multiples of this.
    step = 2**levels
    beyond = [(EDGE_PX, EDGE_PX + -(side + 2 * EDGE_PX) % step) for side in image.shape]
    padded = np.pad(image.astype(np.float32), beyond, mode="symmetric")
    coarse, *details = pywt.swt2(padded, WAVELET, levels, trim_approx=True)
    kept = [tuple(_thresholded(part, sigma**2) for part in level) for level in details]
    denoised = pywt.iswt2([coarse, *kept], WAVELET)
    height, width = image.shape
    inside = denoised[EDGE_PX : EDGE_PX + height, EDGE_PX : EDGE_PX + width]
    return np.asarray(inside, np.float64)


def _thresholded(details: FloatImage, variance: float) -> FloatImage:
    import pywt

    of_signal = float(np.square(details).mean(dtype=np.float64)) - variance
    threshold = variance / np.sqrt(max(of_signal, float(np.finfo(float).eps)))
    return np.asarray(pywt.threshold(details, threshold, "hard"))


def _ants(image: FloatImage) -> FloatImage:
    """Adaptive non-local means (Manjon et al. 2010), as ANTs has it."""
    import ants

    # By default its noise is that of magnetic resonance.
    denoised = ants.denoise_image(ants.from_numpy(image), noise_model="Gaussian")
    return np.asarray(denoised.numpy().astype(np.float32, copy=False))

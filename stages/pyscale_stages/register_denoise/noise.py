"""A camera's noise, estimated from one frame, and the transform that makes it even."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BINS = 40
MIN_BLOCKS = 64
"""Blocks of 2 x 2 pixels in a bin: their median is then within a sixth of the true deviation."""
SIGMA_OF_MEDIAN = 1 / 0.6745
"""Standard deviation of a Gaussian over the median of its absolute values."""

Image = npt.NDArray[np.float64]
SQRT_3_2 = float(np.sqrt(1.5))
DARKEST = 2 * float(np.sqrt(3 / 8))
"""Stabilised value of a pixel without light or read noise: none is expected below it."""


@dataclass(frozen=True)
class CameraNoise:
    """Noise of photons and reading: its variance is `gain * value + intercept`, in counts^2.

    The camera's offset is in the intercept, where neither has to be known.

    `gain`: counts a photo-electron; above 0. `intercept`: variance of reading, less the gain times
    the offset.
    """

    gain: float
    intercept: float

    def stabilise(self, image: Image) -> Image:
        """Make the standard deviation of the noise 1: the generalised Anscombe transform.

        Its source is Starck, Murtagh and Bijaoui, Image Processing and Data Analysis (1998).
        """
        gain = self.gain
        variance = gain * image + 3 / 8 * gain**2 + self.intercept
        stable: Image = 2 / gain * np.sqrt(np.maximum(variance, 0))
        return stable

    def restore(self, stable: Image) -> Image:
        """Counts of a denoised stabilised image, by the closed form of the unbiased inverse.

        Its source is Mäkitalo and Foi, IEEE Transactions on Image Processing 22, 91 (2013). The
        plain algebraic inverse is too dark, by a quarter of a photon and more.
        """
        d = np.maximum(stable, DARKEST)
        photons = d**2 / 4 + SQRT_3_2 / 4 / d - 11 / 8 / d**2 + 5 / 8 * SQRT_3_2 / d**3 - 1 / 8
        counts: Image = self.gain * photons - self.intercept / self.gain
        return counts


def camera_noise(image: Image) -> CameraNoise | None:
    """Estimate the noise of one frame of one channel from its own pixels.

    The diagonal difference of 2 x 2 pixels holds the noise and little of what is shown. Its
    median in bins of brightness leaves out edges, and a line of median slope (Theil-Sen) leaves
    out bins that are mostly edges. The way is that of Foi et al., IEEE Transactions on Image
    Processing 17, 1737 (2008), in short.

    `image`: shape (Y, X). Returns: None where the noise does not grow with brightness or too few
    pixels tell.
    """
    from scipy.stats import theilslopes

    brightness, variance, weight = _variance_by_brightness(image)
    if len(brightness) < 2:
        return None
    growth = theilslopes(variance, brightness)
    if not growth.low_slope > 0:
        # Not even the sign is certain, to 95 %.
        return None
    gain = float(growth.slope)
    # The weighted median of what is left: most pixels are dark, and there the noise must be right.
    rest = variance - gain * brightness
    order = np.argsort(rest)
    half = np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)
    intercept = float(rest[order][half])
    return CameraNoise(gain, intercept)


def _variance_by_brightness(image: Image) -> tuple[Image, Image, Image]:
    """Brightness, noise variance and number of blocks of each bin, the darkest first."""
    from scipy.ndimage import median_filter

    height, width = (side // 2 * 2 for side in image.shape)
    rows = image[:height:2, :width], image[1:height:2, :width]
    a, b, c, d = (row[:, start::2] for row in rows for start in (0, 1))
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

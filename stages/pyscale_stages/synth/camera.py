"""From cells to camera counts: looks, blur, uneven light, photons and the camera's noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyscale_stages.synth.cells import Cells, Coverage, Labels
from pyscale_stages.synth.params import SynthParams, random_stream

TEXTURE_SIDE = 256
TEXTURE_STEPS_PER_PX = 2
TEXTURE_CONTRAST = 0.22
"""Standard deviation of a cell's texture over its brightness."""

BORDER_DIP = 0.55
"""Light at the border of two touching cells of one type over the light beside it."""

HAZE_SHARE = 0.08
HAZE_SIGMA_PX = 7.0
"""Light that comes from out of focus, as a share of the cell's own, and how far it spreads."""

HOT_SPREAD = 0.35
FIXED_PATTERN_COUNTS = 0.6
"""sCMOS pixels have each their own read noise (spread of its logarithm) and offset."""


class Microscope:
    """What stays the same over a movie: light, camera pixels and texture of the dye."""

    def __init__(self, params: SynthParams) -> None:
        from scipy.ndimage import gaussian_filter

        self._params = params
        shape = params.shape_yx
        noise = random_stream(params.seed, "texture").standard_normal((TEXTURE_SIDE, TEXTURE_SIDE))
        coarse = gaussian_filter(noise, 7, mode="wrap")
        fine = gaussian_filter(noise, 2.5, mode="wrap")
        texture = coarse / coarse.std() + 0.6 * fine / fine.std()
        self._texture = (TEXTURE_CONTRAST * texture / texture.std()).astype(np.float32)
        rng = random_stream(params.seed, "camera")
        self._light = _light(params, rng)
        self._read_noise = params.read_noise_electrons * np.exp(
            HOT_SPREAD * rng.standard_normal(shape, np.float32)
        )
        self._offset = params.offset_counts + FIXED_PATTERN_COUNTS * rng.standard_normal(
            shape, np.float32
        )

    def picture(
        self, cells: Cells, coverage: Coverage, labels: Labels, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
        """One channel of a frame as camera counts (Y, X), with noise and without any."""
        from scipy.ndimage import gaussian_filter

        params = self._params
        sharp = np.zeros(labels.size, np.float32)
        sharp[coverage.pixel] = self._looks(cells, coverage)
        sharp = sharp.reshape(labels.shape)
        sharp[_borders(labels)] *= BORDER_DIP
        focus = gaussian_filter(sharp, params.psf_sigma_px, mode="nearest")
        haze = gaussian_filter(focus, HAZE_SIGMA_PX, mode="nearest", truncate=2.5)
        photons = params.signal_photons * (focus + HAZE_SHARE * haze) + params.background_photons
        expected = photons * self._light
        electrons = rng.poisson(expected).astype(np.float32)
        electrons += self._read_noise * rng.standard_normal(labels.shape, np.float32)
        noisy = self._offset + params.gain_counts * electrons
        clean = params.offset_counts + params.gain_counts * expected
        return as_counts(noisy), as_counts(clean)

    def _looks(self, cells: Cells, coverage: Coverage) -> npt.NDArray[np.float32]:
        """Brightness of each covered pixel: profile of the cell's type, times its texture."""
        level, cell = coverage.level, coverage.cell
        if len(cells) and cells["cell_type"][0] == 0:
            # A nucleus: brightest in the middle.
            profile = 0.55 + 0.45 * np.sqrt(1 - level**2)
        else:
            # A dye in the cytoplasm: a dimmer nucleus inside a bright ring.
            profile = 0.6 + 0.4 * np.exp(-(((level - 0.72) / 0.25) ** 2))
        # The last pixel fades out, so that edges move smoothly with sub-pixel drift.
        edge = np.minimum((1 - level) * cells["grown_radius_px"][cell], 1.0)
        row = np.rint(TEXTURE_STEPS_PER_PX * coverage.across).astype(np.int64)
        column = np.rint(TEXTURE_STEPS_PER_PX * coverage.along).astype(np.int64)
        row, column = row + cells["texture_y"][cell], column + cells["texture_x"][cell]
        texture = self._texture[row % TEXTURE_SIDE, column % TEXTURE_SIDE]
        looks = cells["brightness"][cell] * profile * edge * np.maximum(1 + texture, 0.2)
        return np.asarray(looks, np.float32)


def as_counts(image: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.uint16]:
    """What a camera of 16 bits tells of values: whole numbers, clipped."""
    counts: npt.NDArray[np.uint16] = np.clip(np.rint(image), 0, np.iinfo(np.uint16).max).astype(
        np.uint16
    )
    return counts


def _light(params: SynthParams, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """Uneven illumination (Y, X): 1 where brightest, dimmer away from an off-centre spot."""
    centre = rng.uniform(0.3, 0.7, 2)
    y = np.linspace(0, 1, params.height_px)[:, None] - centre[0]
    x = np.linspace(0, 1, params.width_px)[None, :] - centre[1]
    distance = y**2 + x**2
    return np.asarray(1 - params.illumination_loss * distance / distance.max(), np.float32)


def _borders(labels: Labels) -> npt.NDArray[np.bool_]:
    """Pixels beside a pixel of another cell."""
    borders = np.zeros(labels.shape, bool)
    before, after = slice(None, -1), slice(1, None)
    for low, high in ((np.s_[before], np.s_[after]), (np.s_[:, before], np.s_[:, after])):
        met = (labels[low] != labels[high]) & (labels[low] > 0) & (labels[high] > 0)
        borders[low] |= met
        borders[high] |= met
    return borders

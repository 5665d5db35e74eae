"""The tissue on a slide, by Otsu's threshold on a small picture of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput
from pyscale_stages.slides.slide import Level, Pixels, Slide

PICTURE_PX = 2048
"""Longest side of the picture."""
BAND_PIXELS = 64 * 2**20
"""Pixels of a level that are held at once while the picture is made."""
BLUR_PX = 7
CLOSING_PX = 5
SMALLEST_SHARE = 0.001
"""Pieces of tissue that cover less of the picture are taken for dirt."""
_COLOURS = 3
_REDUCING_GAP = 2.0


class Tissue(NamedTuple):
    """Where there is tissue.

    `mask`: bool; shape (height, width) of the picture. `downsample`: pixels of level 0 in one of
    the picture, along the side where they are more.
    """

    mask: npt.NDArray[np.bool_]
    downsample: float


def tissue_mask(slide: Slide) -> Tissue:
    """Find tissue, which is darker than glass, in 8-bit pixels, grey or in colours."""
    import cv2

    seen = picture(slide)
    grey = cv2.GaussianBlur(cv2.cvtColor(seen, cv2.COLOR_RGB2GRAY), (BLUR_PX, BLUR_PX), 0)
    dark = cv2.threshold(grey, 0, 255, cv2.THRESH_BINARY_INV + cv2.THRESH_OTSU)[1]
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (CLOSING_PX, CLOSING_PX))
    closed = cv2.morphologyEx(dark, cv2.MORPH_CLOSE, disc)
    _, pieces, statistics, _ = cv2.connectedComponentsWithStats((closed > 0).astype(np.uint8))
    is_tissue = statistics[:, cv2.CC_STAT_AREA] >= int(closed.size * SMALLEST_SHARE)
    is_tissue[0] = False
    finest = slide.levels[0]
    return Tissue(
        mask=np.asarray(is_tissue[pieces], np.bool_),
        downsample=max(finest.width_px / seen.shape[1], finest.height_px / seen.shape[0]),
    )


def picture(slide: Slide, longest_px: int = PICTURE_PX) -> npt.NDArray[np.uint8]:
    """Make a small picture of a whole slide, as 8-bit RGB."""
    from PIL import Image

    if slide.dtype != np.uint8 or slide.channels not in {1, _COLOURS}:
        raise BadInput(
            f"{slide.path} has {slide.channels} channels of {slide.dtype}, which do not tell "
            "tissue from glass: use --grid tissue=false"
        )
    number = _level_for_picture(slide, longest_px)
    level = slide.levels[number]
    size = _picture_size(level, longest_px)
    # Resampling a large image well is slow: means over whole pixels come first, then the rest.
    steps = (
        max(1, int(level.width_px / size[0] / _REDUCING_GAP)),
        max(1, int(level.height_px / size[1] / _REDUCING_GAP)),
    )
    rows = max(1, BAND_PIXELS // level.width_px // steps[1]) * steps[1]
    bands = []
    for top in range(0, level.height_px, rows):
        height = min(rows, level.height_px - top)
        band = slide.read_on_glass(number, top, 0, height, level.width_px)
        bands.append(np.asarray(Image.fromarray(_coloured(band)).reduce(steps)))
    reduced = Image.fromarray(np.concatenate(bands))
    if reduced.size == size:
        return np.asarray(reduced)
    # The last row and column of means may cover fewer pixels than the others.
    whole = (0.0, 0.0, level.width_px / steps[0], level.height_px / steps[1])
    return np.asarray(reduced.resize(size, Image.Resampling.LANCZOS, whole))


def _coloured(pixels: Pixels) -> Pixels:
    return pixels if pixels.shape[2] == _COLOURS else np.repeat(pixels, _COLOURS, axis=2)


def _level_for_picture(slide: Slide, longest_px: int) -> int:
    """The coarsest level that is still finer than the picture."""
    finest = slide.levels[0]
    wanted = max(finest.width_px, finest.height_px) / longest_px
    fine = [n for n, level in enumerate(slide.levels) if level.downsample <= wanted]
    return fine[-1] if fine else 0


def _picture_size(level: Level, longest_px: int) -> tuple[int, int]:
    """Width and height of the picture: in the proportions of the level, never larger than it."""
    width, height = level.width_px, level.height_px
    if max(width, height) <= longest_px:
        return width, height
    proportion = width / height
    if height >= width:
        return _whole(longest_px * proportion, lambda side: side / longest_px, proportion), (
            longest_px
        )
    return longest_px, _whole(longest_px / proportion, lambda side: longest_px / side, proportion)


def _whole(side: float, gives: Callable[[int], float], proportion: float) -> int:
    """Round a side up or down, whichever keeps the proportions better."""
    sides = max(1, math.floor(side)), max(1, math.ceil(side))
    return min(sides, key=lambda candidate: abs(gives(candidate) - proportion))

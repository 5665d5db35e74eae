"""The tissue on a slide, by Otsu's threshold on a small picture of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput
from pyscale_stages.slides.slide import Level, Slide
from pyscale_stages.wording import plural

PICTURE_PX = 2048
BAND_PIXELS = 64 * 2**20
"""Pixels of a level that are held at once while the picture is made."""
BLUR_PX = 7
CLOSING_PX = 5
SMALLEST_SHARE = 0.001
"""Pieces of tissue that cover less of the picture are taken for dirt."""
LEAST_TISSUE = 0.4
_COLOURS = 3
_REDUCING_GAP = 2.0


@dataclass(frozen=True)
class TissueMap:
    """Where a slide has tissue, in a small picture of it.

    `mask`: shape (height, width); True where there is tissue. `downsample`: pixels of the finest
    level that one element of the mask stands for, along an axis.
    """

    mask: npt.NDArray[np.bool_]
    downsample: float

    def fills(self, x: int, y: int, side_px: int) -> bool:
        """Whether enough of a square of the finest level is tissue."""
        height, width = self.mask.shape
        left = min(int(x / self.downsample), width - 1)
        top = min(int(y / self.downsample), height - 1)
        side = self._side(side_px)
        part = self.mask[top : top + side, left : left + side]
        return np.count_nonzero(part) / part.size >= LEAST_TISSUE

    def fills_anywhere(self, side_px: int) -> bool:
        """Whether any square of the slide has enough tissue."""
        side = self._side(side_px)
        sums = np.pad(self.mask, ((1, 0), (1, 0))).astype(np.int64).cumsum(0).cumsum(1)
        height, width = self.mask.shape
        down, right = min(side, height), min(side, width)
        # Four corners of the table of sums give the sum in each of all squares.
        tissue = sums[down:, right:] - sums[:-down, right:] - sums[down:, :-right]
        tissue += sums[:-down, :-right]
        return bool(tissue.max() / (down * right) >= LEAST_TISSUE)

    def _side(self, side_px: int) -> int:
        """Elements of the mask along the side of a square of the finest level."""
        return max(1, int(side_px / self.downsample))


def tissue_mask(slide: Slide) -> TissueMap:
    """Find tissue, which is darker than glass, in 8-bit pixels, grey or in colours."""
    import cv2

    seen = picture(slide)
    grey = cv2.GaussianBlur(cv2.cvtColor(seen, cv2.COLOR_RGB2GRAY), (BLUR_PX, BLUR_PX), 0)
    dark = cv2.threshold(grey, 0, 255, cv2.THRESH_BINARY_INV + cv2.THRESH_OTSU)[1]
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (CLOSING_PX, CLOSING_PX))
    closed = cv2.morphologyEx(dark, cv2.MORPH_CLOSE, disc)
    _, pieces, statistics, _ = cv2.connectedComponentsWithStats((closed > 0).astype(np.uint8))
    is_tissue = statistics[:, cv2.CC_STAT_AREA] >= int(closed.size * SMALLEST_SHARE)
    # OpenCV's first component is the background.
    is_tissue[0] = False
    finest = slide.levels[0]
    return TissueMap(
        mask=np.asarray(is_tissue[pieces], np.bool_),
        downsample=max(finest.width_px / seen.shape[1], finest.height_px / seen.shape[0]),
    )


def picture(slide: Slide, longest_px: int = PICTURE_PX) -> npt.NDArray[np.uint8]:
    """Make a small picture of a whole slide, as 8-bit RGB."""
    from PIL import Image

    if slide.dtype != np.uint8 or slide.channels not in {1, _COLOURS}:
        raise BadInput(
            f"{slide.path} has {plural(slide.channels, 'channel')} of {slide.dtype}, which do not "
            "tell tissue from glass: use --grid tissue=false"
        )
    # The coarsest level that is still finer than the picture.
    wanted = max(slide.levels[0].width_px, slide.levels[0].height_px) / longest_px
    fine = [n for n, level in enumerate(slide.levels) if level.downsample <= wanted]
    number = fine[-1] if fine else 0
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
        if slide.channels == 1:
            band = np.repeat(band, _COLOURS, axis=2)
        bands.append(np.asarray(Image.fromarray(band).reduce(steps)))
    reduced = Image.fromarray(np.concatenate(bands))
    if reduced.size == size:
        return np.asarray(reduced)
    # The last row and column of means may cover fewer pixels than the others.
    whole = (0.0, 0.0, level.width_px / steps[0], level.height_px / steps[1])
    return np.asarray(reduced.resize(size, Image.Resampling.LANCZOS, whole))


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

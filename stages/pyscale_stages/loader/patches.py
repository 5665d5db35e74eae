"""The shipped data set: wsistream's, with every slide read or refused by name."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from wsistream.sampling import RandomSampler
from wsistream.slide import SlideHandle
from wsistream.tissue import OtsuTissueDetector, TissueDetector
from wsistream.torch import WsiStreamDataset
from wsistream.types import PatchCoordinate, TissueMask

from pyscale_stages.errors import BadInput
from pyscale_stages.loader.stage import LoaderParams
from pyscale_stages.slides.opening import AnySlide

COARSER = 1.25
"""Scanners differ by less at one magnification; the next one is twice as coarse."""
FINER = 2.5
"""Levels are at most 4 times coarser than the next, so that one this near lies in any pyramid."""
KEPT_MASKS = 32
"""Slides whose tissue a process keeps, a mask of at most 4 MiB each."""


class Patches(WsiStreamDataset):  # type: ignore[misc]
    """Patches of slides for ever, the same ones for the same seed.

    Of n loader processes each takes every n-th slide. A slide or patch that cannot be read is an
    error, where wsistream goes on without it.
    """

    def __init__(self, slide_paths: list[str], seed: int, params: LoaderParams) -> None:
        super().__init__(
            # wsistream looks for files in folders, and leaves URIs alone.
            [f"file://{path}" if Path(path).is_dir() else path for path in slide_paths],
            backend=AnySlide(params.reader, with_thumbnail=params.tissue),
            tissue_detector=OtsuTissueDetector() if params.tissue else Everywhere(),
            sampler=Places(patch_size=params.patch_px, target_mpp=params.mpp),
            pool_size=params.pool_size,
            patches_per_slide=params.patches_per_slide,
            patches_per_visit=params.patches_per_visit,
            cycle=True,
            seed=seed,
            # Its own benchmark keeps none.
            tissue_mask_cache_size=0 if params.opening == "published" else KEPT_MASKS,
        )
        # Version 0.1.6 sends them through a pipe that nobody empties: once it is full, after some
        # 1,700 slides were opened, a loader process waits for ever.
        self._shared_stats = _NoStatistics()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        logging.getLogger("wsistream.pipeline").addFilter(_raise_what_is_warned_of)
        patches: Iterator[dict[str, Any]] = super().__iter__()
        return patches


class Places(RandomSampler):  # type: ignore[misc]
    """Places at random, as wsistream draws them; a slide that has none is refused."""

    def sample(self, slide: SlideHandle, tissue_mask: TissueMask) -> Iterator[PatchCoordinate]:
        """Draw places without end, until too many in turn lack tissue."""
        properties = slide.properties
        level = _level_for(slide, self.target_mpp)
        width, height = properties.level_dimensions[level]
        if min(width, height) < self.patch_size:
            raise BadInput(
                f"slide {properties.path} has {height} x {width} pixels at level {level}, less "
                f"than a patch of {self.patch_size}: leave it out, or use smaller patches (--grid "
                "patch_px=...)"
            )
        found = False
        for place in super().sample(slide, tissue_mask):
            found = True
            yield place
        side_px = int(self.patch_size * properties.level_downsamples[level])
        if not found and not fills_anywhere(tissue_mask, side_px, self.tissue_threshold):
            # It would be opened and put back for ever.
            raise BadInput(
                f"slide {properties.path} has no place of {self.patch_size} x {self.patch_size} "
                "pixels with enough tissue: leave it out, or use --grid tissue=false"
            )


class Everywhere(TissueDetector):  # type: ignore[misc]
    """Calls the whole slide tissue."""

    def detect(
        self, thumbnail: npt.NDArray[np.uint8], downsample: tuple[float, float] = (1.0, 1.0)
    ) -> npt.NDArray[np.bool_]:
        """Give a mask that is true throughout."""
        del downsample
        return np.ones(thumbnail.shape[:2], dtype=np.bool_)


class _NoStatistics:
    """Takes what wsistream counts, and keeps nothing."""

    def add_counters(self, **_counts: float) -> None: ...

    def push_histograms(self, *_counts: object) -> None: ...


def _raise_what_is_warned_of(record: logging.LogRecord) -> bool:
    """Raise the error of a slide that wsistream has just decided to go on without."""
    for error in record.args or ():
        if isinstance(error, Exception):
            raise error
    return True


def _level_for(slide: SlideHandle, mpp: float | None) -> int:
    """Find the level that wsistream takes; refuse one far from what is asked."""
    # Patches are never resampled: a finest level coarser by more than a quarter is refused, and a
    # coarsest more than 2.5 times finer.
    if mpp is None:
        return 0
    properties = slide.properties
    if properties.mpp is None:
        raise BadInput(
            f"{properties.path} has no pixel size, so {mpp:g} micrometres per pixel cannot be "
            "found in it: leave out --grid mpp"
        )
    sizes = [properties.mpp_at_level(level) for level in range(properties.level_count)]
    level = int(slide.best_level_for_mpp(mpp))
    if sizes[0] > COARSER * mpp or sizes[level] * FINER < mpp:
        held = ", ".join(f"{size:.3g}" for size in sizes)
        raise BadInput(
            f"{properties.path} has no level near {mpp:g} micrometres per pixel (it has {held}): "
            "use one of these with --grid mpp, or leave that out"
        )
    return level


def fills_anywhere(tissue: TissueMask, side_px: int, threshold: float) -> bool:
    """Whether any square of the slide has enough tissue."""
    side = max(1, int(side_px / tissue.downsample))
    down, right = (min(side, length) for length in tissue.mask.shape)
    inside = cv2.boxFilter(
        tissue.mask.astype(np.uint8),
        cv2.CV_64F,
        (right, down),
        normalize=False,
        # Beyond the slide there is none, so that a square that reaches there counts too little.
        borderType=cv2.BORDER_CONSTANT,
    )
    return bool(inside.max() / (down * right) >= threshold)

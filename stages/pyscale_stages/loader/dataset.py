"""The shipped data set: patches of slides for ever, drawn from a pool of open slides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

from pyscale_stages.loader.keptslides import KeptSlides, Opened, PatchOptions
from pyscale_stages.loader.pool import Pool, Rotation
from pyscale_stages.loader.sampling import Place
from pyscale_stages.slides.slide import Pixels

NO_MPP = -1.0
"""Told as the pixel size of slides that have none: a batch holds numbers."""


class PatchDataset(IterableDataset[dict[str, Any]]):
    """Patches of slides, without end and always the same ones for the same seed.

    With equal settings and seed it gives the patches that wsistream 0.1.6 gives with its
    OpenSlide backend, Otsu's tissue and its random sampler, in the same order. At coarser levels
    than the finest the places are the same and the pixels are not: these are whole pixels of the
    level, where OpenSlide interpolates between them.

    Each item is a dict of `image` (see `as_image`), `slide_path`, `x` and `y` (upper left corner,
    in pixels of the finest level), `plane`, `level`, `patch_size` (in pixels of that level) and
    `mpp` (-1 where the slide does not say).

    `slide_paths`: the slides. Of n loader processes each takes every n-th. `rotation`: how long
    each slide is drawn from. `seed`: what the order of the slides and the places follow from, with
    the number of the loader process and of the pass. `options`: what a patch is, and where it may
    lie.
    """

    def __init__(
        self, slide_paths: Sequence[str], rotation: Rotation, seed: int, options: PatchOptions
    ) -> None:
        self._slide_paths = list(slide_paths)
        self._rotation = rotation
        self._seed = seed
        self._options = options
        self._passes = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Give patches."""
        self._passes += 1
        process = get_worker_info()
        number, count = (process.id, process.num_workers) if process else (0, 1)
        seed = self._seed + self._passes * count + number
        places = np.random.default_rng((seed, 1))
        pool = Pool(
            self._slide_paths[number::count],
            self._rotation,
            np.random.default_rng(seed),
            KeptSlides(self._options).open,
        )

        def draw(opened: Opened) -> dict[str, Any] | None:
            place = opened.places.draw(places)
            return None if place is None else self._item(opened, place)

        return pool.drawn(draw)

    def _item(self, opened: Opened, place: Place) -> dict[str, Any]:
        """Read a patch."""
        slide, side = opened.slide, self._options.patch_px
        level = slide.levels[opened.level]
        # The corner may be rounded to the pixel after the last one where a patch fits.
        y = min(round(place.y / level.downsample), level.height_px - side)
        x = min(round(place.x / level.downsample), level.width_px - side)
        pixels = slide.read(opened.level, y, x, side, side, plane=place.plane)
        return {
            "image": as_image(pixels),
            "slide_path": opened.path,
            "x": place.x,
            "y": place.y,
            "plane": place.plane,
            "level": opened.level,
            "patch_size": side,
            "mpp": NO_MPP if slide.mpp is None else slide.mpp * level.downsample,
        }


def as_image(pixels: Pixels) -> torch.Tensor:
    """Turn pixels into what a network takes.

    `pixels`: shape (height, width, channels). Returns: shape (channels, height, width); whole
    numbers as shares of the largest that their type holds; others as they are.
    """
    image = pixels.transpose(2, 0, 1).astype(np.float32, order="C")
    if pixels.dtype.kind in "ui":
        image /= np.float32(np.iinfo(pixels.dtype).max)
    return torch.from_numpy(image)

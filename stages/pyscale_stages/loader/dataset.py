"""The shipped data set: patches of slides for ever, drawn from a pool of open slides."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

from pyscale_stages.loader.keptslides import KeptSlides, Opened, Place
from pyscale_stages.loader.params import LoaderParams
from pyscale_stages.slides.slide import Pixels

D = TypeVar("D")
NO_MPP = -1.0
"""Told as the pixel size of slides that have none: a batch holds numbers."""


@dataclass
class _Seat:
    """A member, and how many patches it has given since it was opened."""

    member: Opened
    given: int = 0


class Pool:
    """Slides that are open at once, drawn from in turn and for ever.

    The order of the slides is drawn anew each time that all have had their turn. A slide that
    has given its share is closed, and the next of the order comes last in the pool. No order is
    begun while as many members are open as there are slides; one that was begun is opened as far
    as there is room, so a slide may be in the pool twice.
    """

    def __init__(
        self,
        paths: Sequence[str],
        params: LoaderParams,
        generator: np.random.Generator,
        open_member: Callable[[str], Opened],
    ) -> None:
        self._paths = list(paths)
        self._params = params
        self._generator = generator
        self._open_member = open_member
        self._queue: deque[str] = deque()
        self._seats: list[_Seat] = []

    def drawn(self, draw: Callable[[Opened], D | None]) -> Iterator[D]:
        """Draw from the members in turn; one that gives None is replaced."""
        self._queue.extend(self._order())
        turn = visit = 0
        try:
            self._fill()
            while self._seats:
                seat = self._seats[turn]
                found = draw(seat.member)
                if found is not None:
                    yield found
                    seat.given += 1
                    visit += 1
                if found is None or seat.given >= self._params.patches_per_slide:
                    self._seats.pop(turn).member.close()
                    self._fill()
                    # The next slide has moved up to this place.
                    turn, visit = turn % len(self._seats), 0
                elif visit >= self._params.patches_per_visit:
                    turn, visit = (turn + 1) % len(self._seats), 0
        finally:
            for seat in self._seats:
                seat.member.close()
            self._seats.clear()

    def _fill(self) -> None:
        """Open slides until the pool is full, or an order ends with as many as there are."""
        while len(self._seats) < self._params.pool_size:
            if not self._queue:
                if len(self._seats) >= len(set(self._paths)):
                    return
                self._queue.extend(self._order())
            self._seats.append(_Seat(self._open_member(self._queue.popleft())))

    def _order(self) -> list[str]:
        return [self._paths[index] for index in self._generator.permutation(len(self._paths))]


class PatchDataset(IterableDataset[dict[str, Any]]):
    """Patches of slides, without end and always the same ones for the same seed.

    With equal settings and seed it gives the patches that wsistream 0.1.6 gives with its
    OpenSlide backend, Otsu's tissue and its random sampler, in the same order. At coarser levels
    than the finest the places are the same and the pixels are not: these are whole pixels of the
    level, where OpenSlide interpolates between them.

    Each item is a dict of `image` (see `as_image`), `slide_path`, `x` and `y` (upper left corner,
    in pixels of the finest level), `plane`, `level`, `patch_size` (in pixels of that level) and
    `mpp` (-1 where the slide does not say).

    `slide_paths`: the slides. Of n loader processes each takes every n-th. `seed`: what the order
    of the slides and the places follow from, with the number of the loader process and of the pass.
    """

    def __init__(self, slide_paths: Sequence[str], seed: int, params: LoaderParams) -> None:
        self._slide_paths = list(slide_paths)
        self._seed = seed
        self._params = params
        self._passes = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self._passes += 1
        process = get_worker_info()
        number, count = (process.id, process.num_workers) if process else (0, 1)
        # No two processes or passes of a rank have the same seed.
        seed = self._seed + self._passes * count + number
        places = np.random.default_rng((seed, 1))
        pool = Pool(
            self._slide_paths[number::count],
            self._params,
            np.random.default_rng(seed),
            KeptSlides(self._params).open,
        )

        def draw(opened: Opened) -> dict[str, Any] | None:
            place = opened.places.draw(places)
            return None if place is None else self._item(opened, place)

        return pool.drawn(draw)

    def _item(self, opened: Opened, place: Place) -> dict[str, Any]:
        slide, side = opened.slide, self._params.patch_px
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
    """Turn pixels into what a network takes: channels first, whole numbers as shares of 1."""
    image = pixels.transpose(2, 0, 1).astype(np.float32, order="C")
    if pixels.dtype.kind in "ui":
        image /= np.float32(np.iinfo(pixels.dtype).max)
    return torch.from_numpy(image)

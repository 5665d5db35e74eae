"""Data sets of patches that no slide is read for; factories by dotted path, as users give them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

SIDE_PX = 8
ENDS_AFTER = 10
READ_BYTES = 1 << 20


class Numbered(IterableDataset[dict[str, Any]]):
    """Patches with numbers from 0: slides take turns, and each patch lies right of the last.

    A larger seed has them further apart.
    """

    def __init__(self, slides: list[str], seed: int, *, floats: bool = False) -> None:
        self.slides = slides
        self.seed = seed
        self.floats = floats

    def __iter__(self) -> Iterator[dict[str, Any]]:
        number = 0
        while True:
            yield self.item(number)
            number += 1

    def item(self, number: int) -> dict[str, Any]:
        """One patch, whose grey values tell its number and the seed."""
        grey = torch.arange(3 * SIDE_PX**2).add(number + 7 * self.seed).remainder(256)
        image = grey.to(torch.uint8).reshape(3, SIDE_PX, SIDE_PX)
        return {
            "image": image.float() / 255 if self.floats else image,
            "slide_path": self.slides[number % len(self.slides)],
            "x": number * (1 + self.seed),
            "y": 0,
            "level": 0,
        }


def numbered(slides: list[str], _pool: int, _slide: int, _visit: int, seed: int) -> Dataset[Any]:
    """Bytes."""
    return Numbered(slides, seed)


def floating(slides: list[str], _pool: int, _slide: int, _visit: int, seed: int) -> Dataset[Any]:
    """The same patches as floats from 0 to 1."""
    return Numbered(slides, seed, floats=True)


class Reading(Numbered):
    """The same, and as many bytes are read for each patch."""

    def item(self, number: int) -> dict[str, Any]:
        """One patch."""
        with Path("/dev/zero").open("rb") as file:
            file.read(READ_BYTES)
        return super().item(number)


def reading(slides: list[str], _pool: int, _slide: int, _visit: int, seed: int) -> Dataset[Any]:
    """Bytes, after others were read."""
    return Reading(slides, seed)


class OfFiles(Numbered):
    """The same, and the beginning of its slide is read for each patch."""

    def item(self, number: int) -> dict[str, Any]:
        """One patch."""
        with Path(self.slides[number % len(self.slides)]).open("rb") as file:
            file.read(READ_BYTES)
        return super().item(number)


def of_files(slides: list[str], _pool: int, _slide: int, _visit: int, seed: int) -> Dataset[Any]:
    """Bytes, after others were read from the slides."""
    return OfFiles(slides, seed)


class Ending(Numbered):
    """The same, but it ends."""

    def __init__(self, slides: list[str], seed: int, patches: int) -> None:
        super().__init__(slides, seed)
        self.patches = patches

    def __iter__(self) -> Iterator[dict[str, Any]]:
        yield from (self.item(number) for number in range(self.patches))


def ending(slides: list[str], _pool: int, _slide: int, _visit: int, seed: int) -> Dataset[Any]:
    """Ten patches."""
    return Ending(slides, seed, ENDS_AFTER)


def empty(slides: list[str], _pool: int, _slide: int, _visit: int, seed: int) -> Dataset[Any]:
    """No patch."""
    return Ending(slides, seed, 0)


class Pairs(Dataset[tuple[torch.Tensor, int]]):
    """Images with labels and numbers, and without places, as in tutorials."""

    def __len__(self) -> int:
        return 20

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.full((1, SIDE_PX, SIDE_PX), index, dtype=torch.uint8), index


def pairs(_slides: list[str], _pool: int, _slide: int, _visit: int, _seed: int) -> Dataset[Any]:
    """Twenty images."""
    return Pairs()


class Words(IterableDataset[dict[str, Any]]):
    """Items without an image."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while True:
            yield {"slide_path": "a.svs"}


def words(_slides: list[str], _pool: int, _slide: int, _visit: int, _seed: int) -> Dataset[Any]:
    """No tensor at all."""
    return Words()


class Dying(Numbered):
    """Its loader process is killed, as where memory runs out."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for item in super().__iter__():
            if item["x"] == ENDS_AFTER and get_worker_info() is not None:
                os.kill(os.getpid(), signal.SIGKILL)
            yield item


def dying(slides: list[str], _pool: int, _slide: int, _visit: int, seed: int) -> Dataset[Any]:
    """Dies at the eleventh patch."""
    return Dying(slides, seed)


class Refusing(Numbered):
    """One slide cannot be read."""

    def item(self, number: int) -> dict[str, Any]:
        """Refuse the bad slide."""
        item = super().item(number)
        if Path(item["slide_path"]).stem == "bad" and number >= ENDS_AFTER:
            raise ValueError("tile 3 is damaged")
        return item


def refusing(slides: list[str], _pool: int, _slide: int, _visit: int, seed: int) -> Dataset[Any]:
    """Fails at the eleventh patch of a slide called bad."""
    return Refusing(slides, seed)


class Large(Numbered):
    """Patches of 3 MB each, which fill shared memory."""

    def item(self, number: int) -> dict[str, Any]:
        """Make one."""
        return super().item(number) | {"image": torch.ones(3, 1024, 1024, dtype=torch.uint8)}


def large(slides: list[str], _pool: int, _slide: int, _visit: int, seed: int) -> Dataset[Any]:
    """Large patches."""
    return Large(slides, seed)


class Paced(Numbered):
    """A patch takes a stated time, whoever waits for it."""

    def __init__(self, slides: list[str], seed: int, patches_per_s: float) -> None:
        super().__init__(slides, seed)
        self.patches_per_s = patches_per_s

    def item(self, number: int) -> dict[str, Any]:
        """Make one in that time."""
        time.sleep(1 / self.patches_per_s)
        return super().item(number)

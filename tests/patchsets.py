"""Data sets of patches that no slide is read for; factories by dotted path, as users give them."""

import os
import signal
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

    def __init__(self, slides, seed, *, floats=False):
        self.slides = slides
        self.seed = seed
        self.floats = floats

    def __iter__(self):
        number = 0
        while True:
            yield self.item(number)
            number += 1

    def item(self, number):
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


class Reading(Numbered):
    """The same, and as many bytes are read for each patch."""

    def item(self, number):
        """One patch."""
        with Path("/dev/zero").open("rb") as file:
            file.read(READ_BYTES)
        return super().item(number)


class OfFiles(Numbered):
    """The same, and the beginning of its slide is read for each patch."""

    def item(self, number):
        """One patch."""
        with Path(self.slides[number % len(self.slides)]).open("rb") as file:
            file.read(READ_BYTES)
        return super().item(number)


class Ending(Numbered):
    """The same, but it ends."""

    def __init__(self, slides, seed, patches):
        super().__init__(slides, seed)
        self.patches = patches

    def __iter__(self):
        yield from (self.item(number) for number in range(self.patches))


class Pairs(Dataset[tuple[torch.Tensor, int]]):
    """Images with labels and numbers, and without places, as in tutorials."""

    def __len__(self):
        return 20

    def __getitem__(self, index):
        return torch.full((1, SIDE_PX, SIDE_PX), index, dtype=torch.uint8), index


def pairs(_slides, _pool, _slide, _visit, _seed):
    """Twenty images."""
    return Pairs()


class Words(Numbered):
    """Items without an image, and no tensor at all."""

    def item(self, number):
        """One word."""
        return {"slide_path": "a.svs"}


class Dying(Numbered):
    """Its loader process is killed, as where memory runs out."""

    def __iter__(self):
        for item in super().__iter__():
            if item["x"] == ENDS_AFTER and get_worker_info() is not None:
                os.kill(os.getpid(), signal.SIGKILL)
            yield item


class Refusing(Numbered):
    """One slide cannot be read."""

    def item(self, number):
        """Refuse the bad slide."""
        item = super().item(number)
        if Path(item["slide_path"]).stem == "bad" and number >= ENDS_AFTER:
            raise ValueError("tile 3 is damaged")
        return item


class Large(Numbered):
    """Patches of 3 MB each, which fill shared memory."""

    def item(self, number):
        """Make one."""
        return super().item(number) | {"image": torch.ones(3, 1024, 1024, dtype=torch.uint8)}


def factory(kind, *more, **options):
    """A factory of a data set, as users give it."""
    return lambda slides, _pool, _slide, _visit, seed: kind(slides, seed, *more, **options)


numbered = factory(Numbered)
floating = factory(Numbered, floats=True)
reading = factory(Reading)
of_files = factory(OfFiles)
ending = factory(Ending, ENDS_AFTER)
empty = factory(Ending, 0)
words = factory(Words)
dying = factory(Dying)
refusing = factory(Refusing)
large = factory(Large)

"""Datasets whose items have numbers: drawn at random, without end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import Dataset, IterableDataset, Sampler

from pyscale_stages.errors import BadInput


class EndlessSampler(Sampler[int]):
    """Every item once, in an order drawn at random, and then all again in another.

    `items`: how many the data set has. `seed`: what the orders follow from.
    """

    def __init__(self, items: int, seed: int) -> None:
        self._items = items
        self._seed = seed

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self._seed)
        while True:
            yield from torch.randperm(self._items, generator=generator).tolist()


def sampler_of(dataset: Dataset[Any], seed: int, factory: str) -> EndlessSampler | None:
    """Give what draws the items of a data set; None where it gives them in its own order."""
    if isinstance(dataset, IterableDataset):
        return None
    length = getattr(dataset, "__len__", None)
    if length is None:
        raise BadInput(
            f"the dataset of the factory {factory} has neither a length nor its own order: give "
            "its class __len__, or derive it from torch.utils.data.IterableDataset"
        )
    items = int(length())
    if items == 0:
        raise BadInput(
            f"the dataset of the factory {factory} has no items: check that it finds its slides"
        )
    return EndlessSampler(items, seed)

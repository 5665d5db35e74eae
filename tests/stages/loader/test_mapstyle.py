"""Data sets whose items have numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from pyscale_stages.errors import BadInput
from pyscale_stages.loader.batches import EndlessSampler, sampler_of


def test_every_item_comes_once_before_any_comes_again() -> None:
    drawn = list(islice(EndlessSampler(5, seed=1), 15))
    passes = [drawn[0:5], drawn[5:10], drawn[10:15]]
    assert [sorted(one) for one in passes] == [[0, 1, 2, 3, 4]] * 3
    assert passes[0] != passes[1] or passes[1] != passes[2]


def test_the_same_seed_gives_the_same_order_and_another_another() -> None:
    def first(seed: int) -> list[int]:
        return list(islice(EndlessSampler(100, seed), 250))

    assert first(1) == first(1)
    assert first(1) != first(2)


def test_a_loader_never_comes_to_the_end_of_a_numbered_data_set() -> None:
    dataset = TensorDataset(torch.arange(3))
    loader = DataLoader(dataset, batch_size=4, sampler=sampler_of(dataset, 0, "mine:make"))
    batches = [batch[0] for batch in islice(loader, 6)]
    assert [len(batch) for batch in batches] == [4] * 6


def test_a_data_set_with_an_order_of_its_own_keeps_it() -> None:
    class Stream(IterableDataset[int]):
        def __iter__(self) -> Iterator[int]:
            return iter(range(3))

    assert sampler_of(Stream(), 0, "mine:make") is None


def test_a_data_set_without_items_is_refused() -> None:
    with pytest.raises(BadInput, match="the factory mine:make has no items"):
        sampler_of(TensorDataset(torch.arange(0)), 0, "mine:make")


def test_a_data_set_without_a_length_is_refused() -> None:
    class Endless(Dataset[int]):
        def __getitem__(self, index: int) -> int:
            return index

    with pytest.raises(BadInput, match="give its class __len__"):
        sampler_of(Endless(), 0, "mine:make")

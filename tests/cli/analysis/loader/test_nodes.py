"""Cores of a node are counted once, however many ranks may use them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from madeuploader import Entry, loading
from pyscale.analysis.loader.nodes import node_use

ENTRY = Entry("two", 500.0, 4.0, num_workers=3)


def use(ranks: int, cpus: list[list[int] | None], cores: list[int], **options: Any) -> Any:
    """What the ranks of one trial have and need."""
    table = loading([ENTRY], ranks=(ranks,), repeats=1, **options).with_columns(
        cpus=pl.Series(cpus, dtype=pl.List(pl.Int64)), cores=pl.Series(cores)
    )
    return node_use(table).row(0, named=True)


def test_ranks_that_may_use_the_same_cores_share_them() -> None:
    row = use(2, [[0, 1, 2, 3], [3, 2, 1, 0]], [4, 4])
    assert (row["cores"], row["busiest"]) == (4, 2)


def test_ranks_that_are_pinned_apart_have_the_cores_of_both() -> None:
    row = use(2, [[0, 1, 2, 3], [4, 5, 6, 7]], [4, 4])
    assert (row["cores"], row["busiest"]) == (8, 1)


def test_cores_that_two_ranks_have_in_common_count_once() -> None:
    row = use(2, [[0, 1, 2, 3], [2, 3, 4, 5]], [4, 4])
    assert (row["cores"], row["busiest"]) == (6, pytest.approx(8 / 6))


def test_a_limit_below_the_cores_that_are_seen_is_what_counts() -> None:
    row = use(2, [list(range(16))] * 2, [4, 4])
    assert (row["cores"], row["busiest"]) == (4, 2)


def test_the_same_numbers_on_two_nodes_are_other_cores() -> None:
    row = use(2, [[0, 1, 2, 3]] * 2, [4, 4], nodes=2)
    assert (row["cores"], row["busiest"]) == (8, 1)


def test_the_node_that_is_fullest_decides() -> None:
    # Ranks 0 and 2 share the first node, rank 1 has the second for itself.
    row = use(3, [[0, 1, 2, 3]] * 3, [4] * 3, nodes=2)
    assert (row["cores"], row["busiest"]) == (8, 2)


def test_ranks_of_which_nobody_knows_the_cores_are_taken_to_share_them() -> None:
    row = use(2, [None, None], [4, 4])
    assert (row["cores"], row["busiest"]) == (4, 2)

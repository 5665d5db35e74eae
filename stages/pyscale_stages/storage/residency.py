"""The table that proves the state of the page cache: a row a file, before each repeat of a test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyscale_stages.machine.timingtable import WORKER

if TYPE_CHECKING:
    import polars as pl

RESIDENCY = "residency.parquet"
_TYPES = {
    WORKER: "Int64",
    "test": "String",
    "repeat": "Int64",
    "workers": "Int64",
    "mode": "String",
    "file": "String",
    "size_bytes": "Int64",
    "resident_before_bytes": "Int64",
    "resident_after_bytes": "Int64",
    "method": "String",
    "state": "String",
    "reason": "String",
}


def residency_table(proofs: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Make one row of each proof."""
    import polars as pl

    schema = {name: getattr(pl, kind) for name, kind in _TYPES.items()}
    return pl.DataFrame(proofs, schema=schema).with_columns(pl.lit(0, pl.Int64).alias(WORKER))

"""Columns of a table and their types, several names to a type."""

from __future__ import annotations

import polars as pl

TEXT, WHOLE, REAL, FLAG = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()
TEXTS, TIME = pl.List(TEXT), pl.Datetime("us", "UTC")

Schema = dict[str, pl.DataType]


def columns(*runs: tuple[pl.DataType, str]) -> Schema:
    """Give every name, with blanks between them, the type that stands before it; in this order."""
    return {name: kind for kind, names in runs for name in names.split()}


def ends_of(*names: str) -> str:
    """Names of numbers that have an interval, each with its two ends."""
    return " ".join(f"{name} {name}_low {name}_high" for name in names)

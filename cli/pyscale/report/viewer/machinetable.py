"""Tests of machines side by side as a table, for spreadsheets and scripts."""

from __future__ import annotations

from typing import Any

import polars as pl

from pyscale.analysis.machine.sidebyside import CELL
from pyscale.report.viewer.machines import MachinesBeside

NAME = "comparison_tests.csv"
BASE = 0
"""Place of the column that the file's speedups are over."""
JUDGED = ("verdict", "reason", "ratio", "ratio_low", "ratio_high", "p_adjusted", "p_beyond")
NOT_COMPARED = "no_speedup"
"""Column that says why there is no speedup; `why_not` says why there is no time."""


def machine_table(found: MachinesBeside) -> pl.DataFrame:
    """Lay out every test of every column, with its speedup over the first column."""
    ids = {place: source.id for place, source in enumerate(found.sources)}
    names = {place: source.name for place, source in enumerate(found.sources)}
    kinds = {place: source.kind for place, source in enumerate(found.sources)}
    one = ["side", *CELL]
    side = pl.col("side")
    speedups = found.speedups.filter(pl.col("base") == BASE).rename({"why_not": NOT_COMPARED})
    return (
        found.tests.join(speedups, on=one, how="left", nulls_equal=True, maintain_order="left")
        .join(_judged(found), on=one, how="left", nulls_equal=True, maintain_order="left")
        .select(
            side.replace_strict(ids, return_dtype=pl.String),
            side.replace_strict(names, return_dtype=pl.String).alias("name"),
            side.replace_strict(kinds, return_dtype=pl.String).alias("source"),
            *CELL,
            pl.col("own_device").alias("device_name"),
            *("repeats", "first_s", "wall_s", "wall_s_low", "wall_s_high"),
            (100 * pl.col("percent")).alias("percent"),
            *("amount", "unit", "rate", "rate_low", "rate_high", "bottleneck", "cache"),
            pl.col("why_not").replace("", None),
            pl.col("flags").list.join(" "),
            pl.col("base").replace_strict(ids, return_dtype=pl.String),
            *("speedup", "speedup_low", "speedup_high", "basis", NOT_COMPARED, *JUDGED),
        )
    )


def _judged(found: MachinesBeside) -> pl.DataFrame:
    """Verdicts on the other columns against the first."""
    tables = [
        table.drop_nulls("verdict").select(pl.lit(new, pl.Int64).alias("side"), *CELL, *JUDGED)
        for (base, new), table in found.pairs.items()
        if base == BASE
    ]
    if tables:
        return pl.concat(tables)
    schema: dict[str, Any] = {name: found.tests.schema[name] for name in ("side", *CELL)}
    schema |= dict.fromkeys(JUDGED, pl.Float64) | dict.fromkeys(("verdict", "reason"), pl.String)
    return pl.DataFrame(schema=schema)

"""A viewer as a table, for spreadsheets and scripts."""

from __future__ import annotations

from typing import Any

import polars as pl

from pyscale.report.viewer.build import SideBySide
from pyscale.report.viewer.model import Layout

BASE = 0
"""Place of the column that the file's speedups are over."""
JUDGED = ("verdict", "reason", "ratio", "ratio_low", "ratio_high", "p_adjusted", "p_beyond")


def comparison_table(found: SideBySide, layout: Layout) -> pl.DataFrame:
    """Lay out every time of every column, with its speedup over the first column."""
    letters = {place: column.id for place, column in enumerate(found.columns)}
    names = {place: column.name for place, column in enumerate(found.columns)}
    kinds = {place: column.kind for place, column in enumerate(found.columns)}
    one = ["side", *found.names]
    side, text = pl.col("side"), pl.String
    speedups = found.speedups.filter(pl.col("base") == BASE).rename({"why_not": layout.no_speedup})
    return (
        found.rows.join(speedups, on=one, how="left", nulls_equal=True, maintain_order="left")
        .join(_judged(found), on=one, how="left", nulls_equal=True, maintain_order="left")
        .select(
            side.replace_strict(letters, return_dtype=text),
            side.replace_strict(names, return_dtype=text).alias("name"),
            side.replace_strict(kinds, return_dtype=text).alias(layout.source),
            *(*found.names, *layout.told),
            pl.col("base").replace_strict(letters, return_dtype=text),
            *("speedup", "speedup_low", "speedup_high", "basis", layout.no_speedup, *JUDGED),
        )
        .with_columns(pl.col(pl.List(text)).list.join(" "))
    )


def _judged(found: SideBySide) -> pl.DataFrame:
    """Verdicts on the other columns against the first."""
    schema: dict[str, Any] = {name: found.rows.schema[name] for name in ("side", *found.names)}
    schema |= dict.fromkeys(JUDGED, pl.Float64) | dict.fromkeys(("verdict", "reason"), pl.String)
    tables = [
        table.drop_nulls("verdict").select(pl.lit(new, pl.Int64).alias("side"), *list(schema)[1:])
        for (base, new), table in found.pairs.items()
        if base == BASE
    ]
    return pl.concat([pl.DataFrame(schema=schema), *tables])

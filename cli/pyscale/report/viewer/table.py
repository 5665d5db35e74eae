"""The viewer as a table, for spreadsheets and scripts."""

from __future__ import annotations

import polars as pl

from pyscale.analysis.comparison import KEY
from pyscale.analysis.sidebyside import CELL
from pyscale.report.viewer.build import SideBySide, letter

NAME = "comparison.csv"
BASE = 0
"""Place of the column that the file's speedups are over."""
JUDGED = ("verdict", "ratio", "ratio_low", "ratio_high", "p_adjusted", "p_beyond")


def comparison_table(found: SideBySide) -> pl.DataFrame:
    """Lay out every time of every column, with its speedup over the first column."""
    letters = {place: letter(place) for place in range(len(found.sources))}
    names = {place: source.name for place, source in enumerate(found.sources)}
    kinds = {place: source.kind for place, source in enumerate(found.sources)}
    one = ["side", *CELL]
    speedups = found.speedups.filter(pl.col("base") == BASE)
    side = pl.col("side")
    return (
        found.times.join(speedups, on=one, how="left", nulls_equal=True, maintain_order="left")
        .join(_judged(found), on=one, how="left", nulls_equal=True, maintain_order="left")
        .select(
            side.replace_strict(letters, return_dtype=pl.String),
            side.replace_strict(names, return_dtype=pl.String).alias("name"),
            side.replace_strict(kinds, return_dtype=pl.String).alias("kind"),
            *CELL,
            *("repeats", "work", "invalid", "wall_s", "wall_s_low", "wall_s_high", "percent"),
            pl.col("base").replace_strict(letters, return_dtype=pl.String),
            *("speedup", "speedup_low", "speedup_high", "why_not", *JUDGED),
        )
    )


def _judged(found: SideBySide) -> pl.DataFrame:
    """Verdicts on the other columns against the first."""
    devices = found.times.filter(pl.col("part").is_null()).select(
        *("side", "stage", "device", "workers"), own="own_device"
    )
    tables = [
        table.drop_nulls("verdict")
        .select(pl.lit(new, pl.Int64).alias("side"), *KEY, *JUDGED)
        .rename({"device": "own"})
        for (base, new), table in found.pairs.items()
        if base == BASE
    ]
    if not tables:
        schema = dict.fromkeys(JUDGED[1:], pl.Float64) | {JUDGED[0]: pl.String}
        return (
            found.times.select("side", *CELL)
            .clear()
            .with_columns(pl.lit(None, kind).alias(name) for name, kind in schema.items())
        )
    return (
        pl.concat(tables)
        .join(devices, on=["side", "stage", "own", "workers"], nulls_equal=True)
        .select(
            "side", "stage", "device", "workers", pl.lit(None, pl.String).alias("part"), *JUDGED
        )
    )

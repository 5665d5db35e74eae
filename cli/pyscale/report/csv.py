"""The table of configurations as CSV, for spreadsheets and scripts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyscale_stages.atomic import atomic_path

if TYPE_CHECKING:
    import polars as pl

NAME = "benchmark_results_aggregated.csv"


def write_csv(folder: Path, configurations: pl.DataFrame) -> Path:
    """Write one row per configuration at full precision; flags are joined by semicolons."""
    import polars as pl

    final = folder / NAME
    with atomic_path(final) as temporary:
        configurations.with_columns(pl.col("flags").list.join(";")).write_csv(temporary)
    return final

"""The tables of a report as CSV, for spreadsheets and scripts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyscale.report.results import Results
from pyscale_stages.atomic import write_atomically

if TYPE_CHECKING:
    import polars as pl

FILES = {
    "configurations": "benchmark_results_aggregated.csv",
    "losses": "benchmark_losses.csv",
    "trials": "benchmark_trials.csv",
}
"""Field of `Results` and the file that it is written to."""


def csv_texts(results: Results) -> dict[str, str]:
    """Every table by its field of `Results`."""
    return {name: csv_text(getattr(results, name)) for name in FILES}


def write_csv(folder: Path, results: Results) -> list[Path]:
    """Write every table: one row a configuration, one a part of its worker-seconds, one a trial."""
    for name, text in csv_texts(results).items():
        write_atomically(folder / FILES[name], text)
    return [folder / file for file in FILES.values()]


def csv_text(table: pl.DataFrame) -> str:
    """Write a table at full precision; flags and labels of hardware are joined by semicolons."""
    import polars as pl
    import polars.selectors as cs

    return table.with_columns(
        cs.by_dtype(pl.List(pl.String)).list.join(";", ignore_nulls=True)
    ).write_csv()

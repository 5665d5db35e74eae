"""What the report says of warm workers beside new processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from pyscale.analysis.starts import MANY
from pyscale.report.page.values import STARTS, Row, laid_out
from pyscale.report.wording import number
from pyscale_stages.wording import plural

METHOD = (
    "Start: from the start of a warm worker until it can take a window (container, interpreter, "
    "imports, model), once for each worker. Times to a result of warm workers include it once."
)
IN_ONE_PROCESS = (
    "{stages}: the warm process does its windows itself, because its libraries cannot be forked, "
    "so what one window leaves behind may reach the next."
)


def section(found: pl.DataFrame | None) -> dict[str, Any] | None:
    """Content of a report's section; None where one start was measured."""
    if found is None or found.is_empty():
        return None
    columns = STARTS.columns(
        *("workers", "worker_start_s", "window_cold_s", "window_warm_s", "windows_to_repay"),
        *("movie_cold_s", "movie_warm_s", "movies_cold_s", "movies_warm_s", "identical"),
    )
    rows = [(row["family"], row) for row in found.iter_rows(named=True)]
    table = laid_out("New processes and warm workers", rows, columns)
    return {"headlines": list(headlines(found)), "table": table, "method": METHOD}


def headlines(found: pl.DataFrame) -> Iterator[str]:
    """Say of each stage, at its largest N, what a warm worker gains; and what is doubtful."""
    largest = pl.col("workers") == pl.col("workers").max().over("stage")
    for row in found.filter(largest).iter_rows(named=True):
        yield f"{row['family']} at N = {row['workers']}: {_gain(row)}."
    kept = found.filter(pl.col("origin") == "kept")["warm_stage"].unique(maintain_order=True)
    if len(kept):
        yield IN_ONE_PROCESS.format(stages=", ".join(kept))
    for row in found.filter(~pl.col("identical")).iter_rows(named=True):
        yield (
            f"{row['warm_stage']} at N = {row['workers']}: its output has other bytes than that of "
            f"{row['stage']}."
        )


def _gain(row: Row) -> str:
    if row["worker_start_s"] is None:
        return "the start of its warm workers is unknown"
    windows, repaid = row["windows_to_repay"], "a warm window saves nothing"
    if windows is not None:
        repaid = f"repaid after {plural(windows, 'window')}"
    return (
        f"a warm worker starts in {number(row['worker_start_s'])} s, {repaid}; one movie takes "
        f"{number(row['movie_cold_s'])} s cold and {number(row['movie_warm_s'])} s warm, {MANY} "
        f"movies {number(row['movies_cold_s'])} s and {number(row['movies_warm_s'])} s"
    )

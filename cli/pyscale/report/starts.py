"""What the report says of warm workers beside new processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

from pyscale.analysis.starts import MANY
from pyscale.report.page.table import Column, Group, Line, Table
from pyscale.report.page.values import START, Cell, value_of
from pyscale.report.wording import ABSENT, number

Row = dict[str, Any]

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
    return {"headlines": list(headlines(found)), "table": _table(found), "method": METHOD}


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
    windows = row["windows_to_repay"]
    repaid = (
        "a warm window saves nothing"
        if windows is None
        else f"repaid after {windows} window{'s' * (windows != 1)}"
    )
    return (
        f"a warm worker starts in {number(row['worker_start_s'])} s, {repaid}; one movie takes "
        f"{number(row['movie_cold_s'])} s cold and {number(row['movie_warm_s'])} s warm, {MANY} "
        f"movies {number(row['movies_cold_s'])} s and {number(row['movies_warm_s'])} s"
    )


def _table(found: pl.DataFrame) -> Table:
    """Both starts at each N, each number tied to the CSV."""
    return Table(
        caption="New processes and warm workers",
        columns=tuple(column for column, _ in _COLUMNS),
        groups=tuple(
            Group(
                name=rows["family"][0],
                lines=tuple(
                    Line(cells=tuple(write(row) for _, write in _COLUMNS))
                    for row in rows.iter_rows(named=True)
                ),
            )
            for rows in found.partition_by("stage", "device", maintain_order=True)
        ),
    )


def _value(column: str) -> Callable[[Row], Cell]:
    return lambda row: (value_of("starts", START, row, column, number(row[column])),)


def _windows(row: Row) -> Cell:
    count = row["windows_to_repay"]
    return (
        value_of("starts", START, row, "windows_to_repay", ABSENT if count is None else str(count)),
    )


def _same(row: Row) -> Cell:
    return ({True: "yes", False: "no", None: ABSENT}[row["identical"]],)


_COLUMNS: tuple[tuple[Column, Callable[[Row], Cell]], ...] = (
    (Column(name="N"), lambda row: (str(row["workers"]),)),
    (Column(name="Start (s)"), _value("worker_start_s")),
    (Column(name="Window cold (s)"), _value("window_cold_s")),
    (Column(name="Window warm (s)"), _value("window_warm_s")),
    (Column(name="Windows to repay"), _windows),
    (Column(name="One movie cold (s)"), _value("movie_cold_s")),
    (Column(name="One movie warm (s)"), _value("movie_warm_s")),
    (Column(name=f"{MANY} movies cold (s)"), _value("movies_cold_s")),
    (Column(name=f"{MANY} movies warm (s)"), _value("movies_warm_s")),
    (Column(name="Same bytes", is_text=True), _same),
)

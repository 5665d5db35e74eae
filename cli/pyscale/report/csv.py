"""The tables of a report as CSV, for spreadsheets and scripts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from pyscale.report.dictionary import declarations
from pyscale.report.results import Results
from pyscale.wording import grouped
from pyscale_stages.atomic import write_atomically

_ALL = {table: str(told["file"]) for table, told in declarations()["rows"].items()}
FILES = {table: _ALL.pop(table) for table in ("configurations", "losses", "trials")}
"""Field of `Results` and the file that it is written to."""
RARE_FILES = _ALL
"""Tables that not every report has, and the files that they are written to."""


def csv_texts(results: Results) -> dict[str, str]:
    """Every table by its name in the files above; each row names its run and hardware."""
    algorithms = {entry: work.how for entry, work in results.context.works.items()}
    labels = results.trials["hardware"].explode().drop_nulls().unique().sort()
    stamp = {
        "run_id": pl.lit(results.context.run_id, pl.String),
        "hardware": pl.lit(";".join(labels) or None, pl.String),
    }
    return {
        name: csv_text(
            _with_algorithm(table, algorithms).with_columns(
                **{column: value for column, value in stamp.items() if column not in table.columns}
            )
        )
        for name, table in tables_of(results).items()
    }


def files_of(results: Results) -> dict[str, str]:
    """Every table that there is, and the file that it is written to."""
    return {name: (FILES | RARE_FILES)[name] for name in tables_of(results)}


def write_csv(folder: Path, results: Results) -> list[Path]:
    """Write every table that there is, as docs/columns.md tells what its rows are.

    Files of an earlier report that this one has no table for are removed.
    """
    files = files_of(results)
    for name, file in RARE_FILES.items():
        # A table of an earlier report would be taken for one of this.
        if name not in files:
            (folder / file).unlink(missing_ok=True)
    for name, text in csv_texts(results).items():
        write_atomically(folder / files[name], text)
    return [folder / file for file in files.values()]


def tables_of(results: Results) -> dict[str, pl.DataFrame]:
    """Every table; those that not every report has as far as they have rows."""
    rare = grouped(pair for one in results.kinds for pair in one.tables.items())
    for name, own in (
        ("versions", results.versions.table if results.versions else None),
        ("measures", results.measured),
    ):
        rare |= {} if own is None else {name: [own]}
    return {name: getattr(results, name) for name in FILES} | {
        name: table for name, own in rare.items() if not (table := pl.concat(own)).is_empty()
    }


def _with_algorithm(table: pl.DataFrame, algorithms: Mapping[str, str]) -> pl.DataFrame:
    """Say beside each entry which algorithm ran; null in tables that were measured elsewhere."""
    if "stage" not in table.columns:
        return table
    of_entry = pl.col("stage").replace_strict(
        list(algorithms), list(algorithms.values()), default=None, return_dtype=pl.String
    )
    place = table.columns.index("stage") + 1
    return table.select(*table.columns[:place], of_entry.alias("algorithm"), *table.columns[place:])


def csv_text(table: pl.DataFrame) -> str:
    """Write a table at full precision; flags and labels of hardware are joined by semicolons."""
    joined = pl.col(pl.List(pl.String)).list.join(";", ignore_nulls=True)
    return table.with_columns(joined).write_csv()

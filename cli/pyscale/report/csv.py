"""The tables of a report as CSV, for spreadsheets and scripts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from pyscale.report.results import Results
from pyscale_stages.atomic import write_atomically

FILES = {
    "configurations": "benchmark_results_aggregated.csv",
    "losses": "benchmark_losses.csv",
    "trials": "benchmark_trials.csv",
}
"""Field of `Results` and the file that it is written to."""
GRID_FILES = {
    "points": "benchmark_points.csv",
    "ratios": "benchmark_ratios.csv",
    "parts": "benchmark_call_parts.csv",
}
"""Field of `GridFindings` and the file that it is written to, where there is a grid."""
MACHINE_FILES = {
    "tests": "benchmark_tests.csv",
    "nodes": "benchmark_nodes.csv",
    "headroom": "benchmark_headroom.csv",
}
"""Field of `MachineFindings` and the file that it is written to, where the machine was tested."""
LOADER_FILES = {
    "loader": "benchmark_loader.csv",
    "loader_ranks": "benchmark_loader_ranks.csv",
}
"""Points and ranks of `LoaderFindings` and the files that they are written to."""

RECONSTRUCT_FILES = {
    "reconstruct": "benchmark_reconstruct.csv",
    "reconstruct_points": "benchmark_reconstruct_points.csv",
}
"""Scaling and points of `ReconstructFindings` and the files that they are written to."""
VERSION_FILES = {"versions": "benchmark_versions.csv"}
"""The comparison of two versions and the file that it is written to."""
START_FILES = {"starts": "benchmark_starts.csv"}
"""The table of cold and warm starts and the file that it is written to."""
RARE_FILES = GRID_FILES | MACHINE_FILES | LOADER_FILES | RECONSTRUCT_FILES | VERSION_FILES
RARE_FILES |= START_FILES
"""Tables that not every report has, and the files that they are written to."""


def csv_texts(results: Results) -> dict[str, str]:
    """Every table by its field of `Results` or of findings, or by its name in the files above."""
    tables = {name: getattr(results, name) for name in FILES} | _rare(results)
    algorithms = {entry: work.how for entry, work in results.context.works.items()}
    return {name: csv_text(_with_algorithm(table, algorithms)) for name, table in tables.items()}


def files_of(results: Results) -> dict[str, str]:
    """Every table that there is, and the file that it is written to."""
    return FILES | {name: RARE_FILES[name] for name in _rare(results)}


def write_csv(folder: Path, results: Results) -> list[Path]:
    """Write every table: one row a configuration, one a part of its worker-seconds, one a trial.

    Where there is a grid: one row a point, one a ratio, one a part of a call. Where the machine
    was tested: one row a test, one a test and node, one a stage that reads. Where patches were
    loaded: one row a configuration, one a rank of it. Where images were reconstructed over ranks:
    one row a component at each N, one an image at each N. Where two versions were measured: one row
    a configuration of both. Where warm workers were measured beside new processes: one row a stage
    and N. Files of an earlier report that this one has no table for are removed.
    """
    files = files_of(results)
    for name, file in RARE_FILES.items():
        if name not in files:
            (folder / file).unlink(missing_ok=True)
    for name, text in csv_texts(results).items():
        write_atomically(folder / files[name], text)
    return [folder / file for file in files.values()]


def _rare(results: Results) -> dict[str, pl.DataFrame]:
    """Tables that not every report has, as far as they have rows."""
    found = (_of_grids, _of_machine, _of_loader, _of_reconstruct, _of_versions, _of_starts)
    return {
        name: table
        for of_results in found
        for name, table in of_results(results).items()
        if not table.is_empty()
    }


def _of_grids(results: Results) -> dict[str, pl.DataFrame]:
    """Tables of all grids."""
    if not results.grids:
        return {}
    return {name: pl.concat([getattr(grid, name) for grid in results.grids]) for name in GRID_FILES}


def _of_machine(results: Results) -> dict[str, pl.DataFrame]:
    """Tables of the machine's tests."""
    if results.machine is None:
        return {}
    return {name: getattr(results.machine, name) for name in MACHINE_FILES}


def _of_loader(results: Results) -> dict[str, pl.DataFrame]:
    """Tables of loading patches."""
    if results.loader is None:
        return {}
    return {"loader": results.loader.points, "loader_ranks": results.loader.ranks}


def _of_reconstruct(results: Results) -> dict[str, pl.DataFrame]:
    """Tables of reconstruction over ranks."""
    found = results.reconstruct
    if found is None:
        return {}
    return {"reconstruct": found.scaling, "reconstruct_points": found.points}


def _of_versions(results: Results) -> dict[str, pl.DataFrame]:
    """The comparison of two versions."""
    return {} if results.versions is None else {"versions": results.versions.table}


def _of_starts(results: Results) -> dict[str, pl.DataFrame]:
    """New processes and warm workers side by side."""
    return {} if results.starts is None else {"starts": results.starts}


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
    import polars.selectors as cs

    return table.with_columns(
        cs.by_dtype(pl.List(pl.String)).list.join(";", ignore_nulls=True)
    ).write_csv()

"""The stage's three tables: their columns, their rows of one frame, and their files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pyscale_stages.contact.labels import DenseLabels
from pyscale_stages.contact.neighbours import delaunay_edges, nearest
from pyscale_stages.contact.pixels import PixelMeasures
from pyscale_stages.errors import BadInput
from pyscale_stages.parquet import read_table, write_tables
from pyscale_stages.task import Task
from pyscale_stages.windows import ordered_windows

COLUMNS: dict[str, dict[str, type[pl.DataType]]] = {
    "contacts": {
        "frame": pl.Int32,
        "label_a": pl.UInt32,
        "label_b": pl.UInt32,
        "contact_px": pl.Int64,
        "overlap_px": pl.Int64,
    },
    "cells": {
        "frame": pl.Int32,
        "cell_type": pl.Int32,
        "label": pl.UInt32,
        "y_px": pl.Float64,
        "x_px": pl.Float64,
        "area_px": pl.Int64,
        "nearest_label": pl.UInt32,
        "nearest_distance_px": pl.Float64,
        "n_touching": pl.Int32,
    },
    "neighbours": {
        "frame": pl.Int32,
        "cell_type_a": pl.Int32,
        "label_a": pl.UInt32,
        "cell_type_b": pl.Int32,
        "label_b": pl.UInt32,
    },
}
"""Tables by name, and the type of each column.

contacts: one row for each touching pair in a frame; with two cell types a is of type 0 and b
of type 1, with one a < b. cells: one row for each cell in a frame; the nearest cell and
`n_touching` are of the other type, or of the same where there is one. neighbours: one row for
each Delaunay edge between the centroids of all cells in a frame.
"""

Tables = dict[str, pl.DataFrame]


def frame_tables(frame: int, types: Sequence[DenseLabels], pixels: PixelMeasures) -> Tables:
    """Make the tables of one frame, by its index in the whole movie."""
    labels = np.concatenate([cells.labels for cells in types])
    cell_type = np.repeat(np.arange(len(types)), [len(cells.labels) for cells in types])
    points = np.stack([pixels.y_px, pixels.x_px], axis=1)
    a, b = delaunay_edges(points).T
    columns: dict[str, dict[str, npt.NDArray[Any]]] = {
        "contacts": {
            "label_a": types[0].labels[pixels.pairs.a],
            "label_b": types[-1].labels[pixels.pairs.b],
            "contact_px": pixels.pairs.contact_px,
            "overlap_px": pixels.pairs.overlap_px,
        },
        "cells": _cells(types, points, pixels) | {"cell_type": cell_type, "label": labels},
        "neighbours": {
            "cell_type_a": cell_type[a],
            "label_a": labels[a],
            "cell_type_b": cell_type[b],
            "label_b": labels[b],
        },
    }
    tables = {
        name: pl.DataFrame(columns[name])
        .with_columns(frame=pl.lit(frame))
        .select(*schema)
        .cast(pl.Schema(schema))
        for name, schema in COLUMNS.items()
    }
    # A cell without a candidate has no nearest one, which null says and no number does.
    found = pl.col("nearest_distance_px").is_finite()
    tables["cells"] = tables["cells"].with_columns(
        pl.when(found).then(pl.col("nearest_label", "nearest_distance_px"))
    )
    return tables


def joined(parts: Iterable[Tables]) -> Tables:
    """Put tables of consecutive frames one below the other; without any frame they are empty."""
    parts = [{name: pl.DataFrame(schema=COLUMNS[name]) for name in COLUMNS}, *parts]
    # One chunk: how many windows the rows came from must not show in the file.
    return {name: pl.concat([part[name] for part in parts], rechunk=True) for name in COLUMNS}


def write(task: Task, tables: Tables) -> None:
    """Write the three tables into the task's output."""
    write_tables(task, {f"{name}.parquet": table for name, table in tables.items()})


def read_tables(folder: Path) -> Tables:
    """Read the three tables of an output folder."""
    return {name: read_table(folder / f"{name}.parquet", COLUMNS[name]) for name in COLUMNS}


def _cells(
    types: Sequence[DenseLabels], points: npt.NDArray[np.float64], pixels: PixelMeasures
) -> dict[str, npt.NDArray[Any]]:
    n_a, n_all = len(types[0].labels), len(points)
    # Cells of the second type are counted on after those of the first.
    ends = np.concatenate([pixels.pairs.a, pixels.pairs.b + n_a * (len(types) - 1)])
    split = np.split(points, [n_a])[: len(types)]
    found = [
        (others.labels, *nearest(own, candidates, same=len(types) == 1))
        # The nearest is sought in the other type, or in the same where there is one.
        for own, candidates, others in zip(split, split[::-1], types[::-1], strict=True)
    ]
    return {
        "y_px": pixels.y_px,
        "x_px": pixels.x_px,
        "area_px": np.concatenate([cells.area_px for cells in types]),
        # The index -1, for none, finds the 0 that is appended.
        "nearest_label": np.concatenate(
            [np.append(labels, 0)[index] for labels, index, _ in found]
        ),
        "nearest_distance_px": np.concatenate([distance for _, _, distance in found]),
        "n_touching": np.bincount(ends, minlength=n_all),
    }


def merge(task: Task) -> None:
    """Put the tables of all windows one below the other, in the order of their frames."""
    windows = ordered_windows(task)
    tables = joined(read_tables(folder) for folder, _ in windows)
    if tables["cells"].is_empty():
        raise BadInput(
            f"none of the {len(windows)} windows, from {windows[0][0]} on, has a cell: check the "
            "labels that they were measured on"
        )
    write(task, tables)
    task.count(frames=windows[0][1].movie_frames, objects=len(tables["contacts"]))
    task.write_whole(windows[0][1])

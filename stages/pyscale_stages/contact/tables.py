"""The stage's three tables: contacts, cells and neighbours, their rows of a frame, their files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pyscale_stages.contact.labels import DenseLabels
from pyscale_stages.contact.pixels import PixelMeasures
from pyscale_stages.errors import BadInput
from pyscale_stages.parquet import read_table, write_tables
from pyscale_stages.task import Task
from pyscale_stages.windows import ordered_windows

TIE = 1e-9
"""Relative difference of distances that may be rounding: it is looked at again."""

Points = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


def delaunay_edges(points: Points) -> Indices:
    """Pairs of points that are neighbours in the Delaunay triangulation.

    Points on one line have no triangles: their neighbours are the next on the line, to which
    the triangulation shrinks. A point that coincides with another is a neighbour of that one
    alone. Where four or more points lie on one circle several triangulations are right, and
    the one of scipy (Qhull) is taken.

    `points`: shape (n, 2). Returns: shape (edges, 2); indices a < b, in order.
    """
    from scipy.spatial import Delaunay, QhullError

    if len(points) < 3:
        return _chain(points)
    try:
        triangulation = Delaunay(points)
    except QhullError:
        return _chain(points)
    corners = triangulation.simplices
    # Points that Qhull left out come with the nearest that it kept.
    sides = [corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]]
    edges = np.concatenate([*sides, triangulation.coplanar[:, [0, 2]]]).astype(np.int64)
    return _in_order(edges)


def nearest(points: Points, candidates: Points, *, same: bool) -> tuple[Indices, Points]:
    """Nearest candidate of each point, the first of equals, and how far it is.

    Computed here in float64 by a tree and not on the device: pyclesperanto 0.25.1 computes a
    distance matrix n times over (each entry's work item fills the whole row), which at 512
    cells takes 0.4 s a frame and at 5000 would take minutes.

    `points`: shape (n, 2). `candidates`: shape (m, 2). Returns `index`: shape (n,); -1 where there
    is no candidate, `distance_px`: shape (n,); infinite where there is none.
    """
    from scipy.spatial import cKDTree

    # Among its like, a point that is alone has no nearest.
    if len(candidates) <= same:
        return np.full(len(points), -1), np.full(len(points), np.inf)
    tree = cKDTree(candidates)
    # Among points a point finds itself, or its like at the same place, before its neighbour.
    found = np.asarray(tree.query(points, k=[2 if same else 1])[0])[:, 0]
    # The tree names any of equals: all that are as near are fetched, in their order.
    as_near = tree.query_ball_point(points, found * (1 + TIE), return_sorted=True)
    point = np.repeat(np.arange(len(points)), [len(near) for near in as_near])
    candidate = np.fromiter(chain.from_iterable(as_near), np.int64, len(point))
    if same:
        others = point != candidate
        point, candidate = point[others], candidate[others]
    distance = np.sqrt(((points[point] - candidates[candidate]) ** 2).sum(axis=1))
    starts = np.searchsorted(point, np.arange(len(points)))
    least = np.minimum.reduceat(distance, starts)
    equal = np.flatnonzero(distance == least[point])
    _, first = np.unique(point[equal], return_index=True)
    return candidate[equal[first]], least


def _chain(points: Points) -> Indices:
    """Join points that lie on one line with the next along it."""
    if len(points) < 2:
        return np.empty((0, 2), dtype=np.int64)
    _, _, axes = np.linalg.svd(points - points.mean(axis=0))
    order = np.argsort(points @ axes[0], kind="stable")
    return _in_order(np.stack([order[:-1], order[1:]], axis=1))


def _in_order(edges: Indices) -> Indices:
    """Each pair once and with the smaller index first, sorted."""
    return np.unique(np.sort(edges, axis=1), axis=0)


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

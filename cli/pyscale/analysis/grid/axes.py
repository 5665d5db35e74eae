"""The axes of a grid, read from the points of its table of tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

SIZE = "length_px"
"""Axis of the lengths of square images."""
SHARING = "gpu_sharing"
"""Axis that a CPU does not have: how workers share the GPUs of a node."""
VERSION = "version"
"""Axis of points that a run measures in two versions, `new` and `base`."""

Point = Mapping[str, Any]


def points_of(tasks: pl.DataFrame, entries: Sequence[str] = ()) -> dict[str, dict[str, Point]]:
    """Points of every grid in the order of `entries`: family -> stage -> axis -> value."""
    stages = tasks.filter(pl.col("point").is_not_null()).unique(
        "stage", keep="first", maintain_order=True
    )
    places = {entry: place for place, entry in enumerate(entries)}
    rows = sorted(
        stages.select("stage", "family", "point").iter_rows(),
        key=lambda row: places.get(row[0], len(places)),
    )
    found: dict[str, dict[str, Point]] = {}
    for stage, family, written in rows:
        if point := json.loads(written):
            found.setdefault(family, {})[stage] = point
    return found


def series_of(points: Mapping[str, Point], *, without: Sequence[str | None]) -> dict[str, str]:
    """Name the series of each point, like "batch_size 8, model cyto3", after the axes that vary."""
    values: dict[str, set[str]] = {}
    for point in points.values():
        for axis, value in point.items():
            values.setdefault(axis, set()).add(json.dumps(value))
    varying = [axis for axis, own in values.items() if len(own) > 1 and axis not in without]
    return {
        stage: ", ".join(f"{axis} {point[axis]}" for axis in varying if axis in point)
        for stage, point in points.items()
    }


def bases_of(points: Mapping[str, Point], versus: str | None) -> dict[str, str]:
    """Map each stage to the one it is compared with: the same but for the first value of versus.

    A device that is no GPU has none to share, so that another value of `gpu_sharing` will do.
    """
    if versus is None:
        return {}
    first = next((point[versus] for point in points.values() if versus in point), None)
    exact: dict[str, str] = {}
    close: dict[str, str] = {}
    for stage, point in points.items():
        if point.get(versus) == first:
            exact[_key(point, (versus,))] = stage
            close.setdefault(_key(point, (versus, SHARING)), stage)
    found = {}
    for stage, point in points.items():
        if versus not in point or point[versus] == first:
            continue
        base = exact.get(_key(point, (versus,)), close.get(_key(point, (versus, SHARING))))
        if base is not None:
            found[stage] = base
    return found


def _key(point: Point, without: Sequence[str]) -> str:
    kept = {axis: value for axis, value in point.items() if axis not in without}
    return json.dumps(kept, sort_keys=True)

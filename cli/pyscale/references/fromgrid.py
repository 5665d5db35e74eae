"""A reference from a grid over image sizes: its times, and how they were taken."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from pyscale.analysis.grid.findings import grid_findings
from pyscale.analysis.grid.points import SIZE, points_of, series_of
from pyscale.analysis.grid.samples import samples
from pyscale.analysis.grid.tablepoints import KINDS
from pyscale.analysis.referencemodel import Content
from pyscale.planning.plan import Plan
from pyscale.store.tables import Tables

NOT_NAMED = "of its own"
"""In place of a path, which may say where somebody is."""


def size_sweep(
    plan: Plan,
    tables: Tables,
    trials: pl.DataFrame,
    configurations: pl.DataFrame,
    stamps: Sequence[Mapping[str, Any]],
) -> Content | None:
    """Take the times of a grid over sizes out of a run; None where it has none for one worker."""
    suite = plan.suite
    if suite.against != SIZE:
        return None
    found = grid_findings(
        *(tables.tasks, tables.calls, trials, configurations),
        versus=suite.versus,
        against=suite.against,
        entries=list(suite.stages),
    )
    if not found:
        return None
    points = pl.concat([grid.points for grid in found]).filter(
        pl.col("workers") == 1, pl.col(SIZE).is_not_null()
    )
    timed = samples(tables.calls, trials)
    measure = "steady" if (timed["measure"] == "steady").any() else "first"
    names = _names(tables.tasks, list(suite.stages))
    table = (
        timed.filter(pl.col("measure") == measure)
        .join(points, on=("stage", "workers"), maintain_order="left")
        .select(
            stage=pl.col("stage").replace_strict(names, return_dtype=pl.String),
            device=pl.col("device").replace(_devices(stamps)),
            length_px=SIZE,
            wall_s="time_s",
            repeat="block",
        )
    )
    if table.is_empty():
        return None
    kinds = {names[trial.entry]: trial.stage for trial in plan.trials if trial.entry in names}
    return Content(
        table=table,
        stages={name: kinds[name] for name in table["stage"].unique(maintain_order=True)},
        sweep=SIZE,
        figures=f"{_FIGURES[measure]};",
        configurations=configurations,
        conditions=dict(_conditions(plan, points, stamps)),
    )


_FIGURES = {
    "steady": "time of a call on a square crop of length_px, in one worker: of each process the "
    "median of those after its first; building the model is not in it",
    "first": "time of the first call of a process on a square crop of length_px, in one worker; "
    "building the model is not in it",
}


def _names(tasks: pl.DataFrame, entries: Sequence[str]) -> dict[str, str]:
    """Point -> name of its curve: the family, and what varies beside device and size."""
    names: dict[str, str] = {}
    for family, points in points_of(tasks, entries).items():
        told = {
            stage: {axis: without_path(value) for axis, value in point.items()}
            for stage, point in points.items()
        }
        series = series_of(told, without=("device", SIZE))
        names |= {stage: f"{family}, {own}" if own else family for stage, own in series.items()}
    return names


def without_path(value: Any) -> Any:
    """Value of a parameter, or other words where it is a text with a folder in it."""
    return NOT_NAMED if isinstance(value, str) and re.search(r"[/\\]", value) else value


def _devices(stamps: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Kind of device -> its name in the table, by the GPU where there is one kind of it."""
    models = {gpu.get("name") or "" for stamp in stamps for gpu in stamp.get("gpus", ())}
    words = re.findall(r"[a-z0-9]+", models.pop().lower()) if len(models) == 1 else []
    # A name of a device holds one word for its kind.
    return {"cuda": "-".join(["cuda", *(word for word in words if word not in KINDS)])}


def _conditions(
    plan: Plan, points: pl.DataFrame, stamps: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    """How the times were taken: what of it is the same for many points is told once."""
    own = [trial for trial in plan.trials if trial.entry in set(points["stage"])]
    yield "device", _listed(points["device"])
    yield "cores of a worker", _listed(points["threads"])
    for parameter in ("model", "batch_size", "diameter_px", "calls"):
        values = [
            without_path(trial.params[parameter]) for trial in own if parameter in trial.params
        ]
        known = [value for value in values if value is not None]
        if known:
            yield _WORDS[parameter], _listed(known)
    cuda = {gpu["cuda"] for stamp in stamps for gpu in stamp.get("gpus", ()) if gpu.get("cuda")}
    if cuda:
        yield "newest CUDA of the GPU driver", _listed(cuda)


_WORDS = {
    "model": "model",
    "batch_size": "tiles at once",
    "diameter_px": "diameter in pixels",
    "calls": "calls of a process",
}


def _listed(values: Any) -> str:
    return ", ".join(map(str, sorted(set(values))))

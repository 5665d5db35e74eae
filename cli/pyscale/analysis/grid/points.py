"""One row a point of a grid and N: how long a call takes there, and what it needs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import polars as pl

from pyscale.analysis.grid.axes import SIZE, VERSION, Point, bases_of, series_of
from pyscale.analysis.grid.samples import MEASURES, built
from pyscale.analysis.intervals import median_with_ends
from pyscale.analysis.schema import FLAG, REAL, TEXT, TEXTS, WHOLE, columns, ends_of

TASK_MEDIANS = ("objects", "gpu_own_peak_bytes", "gpu_peak_bytes", "gpu_energy_j", "cpu_energy_j")
"""Columns of the table of tasks whose median over the windows' tasks a point has."""
BESIDE = {
    "beside_ap_iou50": "ap_iou50",
    "beside_ap_iou90": "ap_iou90",
    "beside_objects": "cells_other",
    "beside_objects_base": "cells_reference",
}
"""Columns of a point, and the measures of the stage's comparison with its base that they are."""


POINT_SCHEMA = columns(
    (TEXT, "suite family stage series value base base_stage device"),
    (WHOLE, "threads"),
    (TEXT, "gpu_sharing model"),
    (WHOLE, "batch_size"),
    (TEXT, "point"),
    (WHOLE, "workers pixels"),
    (REAL, "megapixels length_px"),
    (WHOLE, "trials calls"),
    (REAL, ends_of(*(f"{measure}_s" for measure in MEASURES))),
    (REAL, "published_sd_s"),
    (WHOLE, "published_calls"),
    (REAL, ends_of("throughput_mp_s")),
    (REAL, " ".join((*TASK_MEDIANS, *BESIDE, "quality"))),
    (TEXTS, "flags warnings"),
    (FLAG, "result_doubted invalid"),
)


def grid_points(
    tasks: pl.DataFrame,
    calls: pl.DataFrame,
    trials: pl.DataFrame,
    configurations: pl.DataFrame,
    times: pl.DataFrame,
    *,
    points: Mapping[str, Point],
    versus: str | None,
    against: str | None,
) -> pl.DataFrame:
    """Summarise the trials of every point of one family."""
    family = tasks.filter(pl.col("stage").is_in(list(points)))["family"][0]
    series = series_of(points, without=(versus, against))
    bases = bases_of(points, versus)
    rows = []
    for stage, point in points.items():
        own = trials.filter(stage=stage)
        for workers in own["workers"].unique().sort():
            one = pl.col("stage") == stage, pl.col("workers") == workers
            done = own.filter(workers=workers)
            counted = tasks.filter(*one, verb="run").join(
                done.filter("valid").select("trial"), on="trial", how="semi"
            )
            base = bases.get(stage)
            rows.append(
                {
                    **_about(tasks.filter(*one), configurations.filter(*one)),
                    "family": family,
                    "stage": stage,
                    "series": series[stage],
                    "value": _value(point, versus),
                    "base": None if base is None else _value(points[base], versus),
                    "base_stage": base,
                    "model": _text(point, "model"),
                    "batch_size": point.get("batch_size"),
                    "point": json.dumps(point),
                    "workers": workers,
                    "trials": done.filter("valid").height,
                    **_sizes(calls.filter(*one), point),
                    **medians_with_ends(times.filter(*one)),
                    **_published(calls.filter(*one), done),
                    **{column: counted[column].median() for column in TASK_MEDIANS},
                    **_quality(done),
                    **_beside(tasks.filter(*one), _of_other_versions(points, point)),
                }
            )
    table = pl.DataFrame(rows, schema=POINT_SCHEMA)
    return with_throughput(table)


def with_throughput(points: pl.DataFrame) -> pl.DataFrame:
    """Fill in the megapixels per second of all workers: of steady calls, else of first ones."""
    done = pl.col("workers") * pl.col("megapixels")
    of = pl.when(pl.col("steady_s").is_not_null())
    # The quicker the call, the higher the throughput: the ends change places.
    ends = {"": "", "_low": "_high", "_high": "_low"}
    return points.with_columns(
        (done / of.then(f"steady_s{end}").otherwise(f"first_s{end}")).alias(f"throughput_mp_s{own}")
        for own, end in ends.items()
    )


def medians_with_ends(times: pl.DataFrame) -> dict[str, float | None]:
    """`M_s`, `M_s_low` and `M_s_high` of each measure from the samples of one point and N."""
    found: dict[str, float | None] = {}
    for measure in MEASURES:
        values = times.filter(measure=measure)["time_s"].to_list()
        found |= median_with_ends(f"{measure}_s", values)
    return found


def _about(tasks: pl.DataFrame, configurations: pl.DataFrame) -> dict[str, Any]:
    flags, warnings = configurations["flags"].to_list(), configurations["warnings"].to_list()
    return {
        "suite": tasks["suite"][0],
        "device": tasks["device"][0],
        "threads": tasks["threads"][0],
        "gpu_sharing": tasks["gpu_sharing"][0],
        "flags": flags[0] if flags else [],
        "warnings": warnings[0] if warnings else [],
        "result_doubted": bool(configurations["result_doubted"].any()),
        "invalid": bool(configurations["invalid"].any()),
    }


def _text(point: Point, axis: str | None) -> str | None:
    return None if axis is None or axis not in point else str(point[axis])


def _value(point: Point, versus: str | None) -> str | None:
    """Value of versus; one that is no name says what it counts, like "threads 2"."""
    text = _text(point, versus)
    named = versus is None or isinstance(point.get(versus), str)
    return text if named or text is None else f"{versus} {text}"


def _sizes(calls: pl.DataFrame, point: Point) -> dict[str, Any]:
    """Size of the image: that of the calls, or what the grid says where none came to an end."""
    pixels, asked = calls.select(pl.col("pixels").max()).item(), point.get(SIZE)
    if pixels is None and isinstance(asked, int):
        pixels = asked**2
    if pixels is None:
        return {}
    return {"pixels": pixels, "megapixels": pixels / 1e6, "length_px": pixels**0.5}


def _published(calls: pl.DataFrame, trials: pl.DataFrame) -> dict[str, Any]:
    """Mean and standard deviation over the calls that built their model."""
    whole = built(calls).join(trials.filter("valid").select("trial"), on="trial", how="semi")
    found: dict[str, Any] = {"calls": whole.height}
    own = whole.drop_nulls("build_s").filter(pl.len().over("trial", "task") > 1)
    if own.is_empty():
        return found
    both_s = pl.col("build_s") + pl.col("wall_s")
    mean_s, sd_s = own.select(mean=both_s.mean(), sd=both_s.std()).row(0)
    return found | {
        "published_s": mean_s,
        "published_s_low": mean_s - sd_s,
        "published_s_high": mean_s + sd_s,
        "published_sd_s": sd_s,
        "published_calls": own.height,
    }


def _quality(trials: pl.DataFrame) -> dict[str, float]:
    records: Sequence[str] = trials["quality"].drop_nulls().to_list()
    known = [json.loads(record).get("ap_iou50") for record in records]
    values = [value for value in known if value is not None]
    return {"quality": median(values)} if values else {}


def _of_other_versions(points: Mapping[str, Point], point: Point) -> tuple[str, ...]:
    """Beginnings of the names of trials of another version than a point."""
    version = point.get(VERSION)
    return tuple(f"{stage}-n" for stage, own in points.items() if own.get(VERSION) != version)


def _beside(tasks: pl.DataFrame, left_out: tuple[str, ...]) -> dict[str, float]:
    """Worst results of the comparisons with the baseline's output."""
    rows = tasks.select("beside_trial", "beside_details").drop_nulls("beside_details").iter_rows()
    details = [json.loads(told) for trial, told in rows if not (trial or "").startswith(left_out)]
    found = {}
    for column, measure in BESIDE.items():
        values = [own[measure] for own in details if measure in own]
        if values:
            found[column] = min(values) if "ap_iou" in column else values[0]
    return found

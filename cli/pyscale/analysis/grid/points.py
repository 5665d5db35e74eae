"""One row a point of a grid and N, of a run or of a table of times by device and size."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from pyscale.analysis.aggregate import medians
from pyscale.analysis.declared import FLAG, REAL, TEXT, TEXTS, WHOLE, columns, ends_of
from pyscale.analysis.findings import Row
from pyscale.analysis.grid.parts import MEASURES, SAMPLE_SCHEMA, built
from pyscale.analysis.intervals import median_with_ends
from pyscale.analysis.walltimes import is_interleaved, trials_from_wall_times

SIZE = "length_px"
"""Axis of the lengths of square images."""
"""Axis that a CPU does not have: how workers share the GPUs of a node."""

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
    """Map each stage to the one it is compared with: the same but for the first value of versus."""
    if versus is None:
        return {}
    first = next((point[versus] for point in points.values() if versus in point), None)
    bases = {_key(point, versus): s for s, point in points.items() if point.get(versus) == first}
    found = {}
    for stage, point in points.items():
        if versus not in point or point[versus] == first:
            continue
        base = bases.get(_key(point, versus))
        if base is not None:
            found[stage] = base
    return found


def _key(point: Point, without: str) -> str:
    kept = {axis: value for axis, value in point.items() if axis != without}
    return json.dumps(kept, sort_keys=True)


ABOUT, DOUBTS = ("suite", "device", "threads"), ("flags", "warnings")
"""Columns of a point that its tasks tell, and those that its row of configurations does."""
TASK_MEDIANS = ("objects", "gpu_own_peak_bytes", "gpu_peak_bytes")
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
    (TEXT, "model"),
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
    timed_s = medians_of(times)
    rows = []
    for stage, point in points.items():
        base = bases.get(stage)
        for workers in trials.filter(stage=stage)["workers"].unique().sort():
            asked, own_calls, done, told = (
                table.filter(stage=stage, workers=workers)
                for table in (tasks, calls, trials, configurations)
            )
            timed = done.filter("valid")
            counted = asked.filter(pl.col("trial").is_in(timed["trial"].to_list()), verb="run")
            rows.append(
                {
                    **{name: asked[name][0] for name in ABOUT},
                    **{name: next(iter(told[name].to_list()), []) for name in DOUBTS},
                    **{name: bool(told[name].any()) for name in ("result_doubted", "invalid")},
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
                    "trials": timed.height,
                    **_sizes(own_calls, point),
                    **timed_s.get((stage, workers), {}),
                    **_published(own_calls, timed),
                    **{column: counted[column].median() for column in TASK_MEDIANS},
                    "quality": pl.Series(
                        _numbers(done["quality"], "ap_iou50"), dtype=REAL
                    ).median(),
                    **_beside(asked),
                }
            )
    return with_throughput(pl.DataFrame(rows, schema=POINT_SCHEMA))


def medians_of(times: pl.DataFrame) -> dict[tuple[str, int], Row]:
    """`M_s`, `M_s_low` and `M_s_high` of each measure, of each stage and N."""
    index = ["stage", "workers", "trial"]
    wide = times.pivot("measure", on_columns=MEASURES, index=index, values="time_s")
    named = wide.rename({measure: f"{measure}_s" for measure in MEASURES})
    found = medians(named, index[:2], *(f"{measure}_s" for measure in MEASURES)).to_dicts()
    return {(row.pop("stage"), row.pop("workers")): row for row in found}


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


def _published(calls: pl.DataFrame, timed: pl.DataFrame) -> dict[str, Any]:
    """Mean and standard deviation over the calls that built their model."""
    whole = built(calls).join(timed.select("trial"), on="trial", how="semi")
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


def _numbers(texts: Iterable[str | None], name: str) -> list[float]:
    known = [json.loads(text).get(name) for text in texts if text is not None]
    return [value for value in known if value is not None]


def _beside(tasks: pl.DataFrame) -> dict[str, float]:
    """Worst results of the comparisons with the baseline's output."""
    return {
        column: min(values) if "ap_iou" in column else values[0]
        for column, measure in BESIDE.items()
        if (values := _numbers(tasks["beside_details"], measure))
    }


KINDS = ("cpu", "gpu", "cuda", "mps")
BASE_KIND = "cpu"
"""The kind that the others of a machine are compared with."""


class NamedDevice(NamedTuple):
    """Machine, kind and model in the name of a device."""

    machine: str
    """"" where the name has none."""
    kind: str
    model: str
    """"" where the name has none."""


def device_of(name: str) -> NamedDevice | None:
    """Take a name like `desktop-gpu-rtx4070` or `cpu` apart; None where it has not one kind."""
    words = name.split("-")
    places = [place for place, word in enumerate(words) if word.lower() in KINDS]
    if len(places) != 1:
        return None
    place = places[0]
    return NamedDevice("-".join(words[:place]), words[place].lower(), "-".join(words[place + 1 :]))


def points_of_table(table: pl.DataFrame, name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Shape published times as points and samples, so that the same analysis serves them.

    The times are taken for steady ones: what they hold beside the call, their source must say. Each
    machine is a series of its own, whose devices are compared with its CPU.
    """
    table = with_stages(table, name)
    known = {
        key[0]: {device: _known(device) for device in own["device"].unique()}
        for key, own in table.group_by("family")
    }
    rows = []
    for key, own in table.group_by("family", "device", "length_px", maintain_order=True):
        family, device, length_px = str(key[0]), str(key[1]), float(str(key[2]))
        devices = known[family]
        named, base = devices[device], _base(devices[device], devices)
        several = len({other.machine for other in devices.values()}) > 1
        rows.append(
            {
                "suite": name,
                "family": family,
                "stage": own["stage"][0],
                "series": named.machine if several else "",
                "value": device,
                "base": base,
                "base_stage": None if base is None else point_name(family, length_px, base),
                "device": named.kind,
                "point": json.dumps({"device": device, "length_px": length_px}),
                "workers": 1,
                "pixels": round(length_px**2),
                "megapixels": length_px**2 / 1e6,
                "length_px": length_px,
                "trials": own.height,
                **median_with_ends("steady_s", own["wall_s"].to_list()),
                "flags": [],
                "warnings": [],
                "invalid": False,
            }
        )
    times = table.select(
        "stage",
        workers=pl.lit(1, pl.Int64),
        block=pl.col("block") if is_interleaved(table) else pl.lit(None, pl.Int64),
        trial=pl.format("{}/{}", "stage", "repeat"),
        measure=pl.lit("steady"),
        time_s=pl.col("wall_s").cast(pl.Float64),
    ).select(list(SAMPLE_SCHEMA))
    return with_throughput(pl.DataFrame(rows, schema=POINT_SCHEMA)), times


def trials_of_sizes(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Shape the same times as trials of one worker, one curve a point."""
    staged = with_stages(table, name).with_columns(workers=pl.lit(1, pl.Int64))
    kinds = {
        stage: _known(device).kind for stage, device in staged.select("stage", "device").iter_rows()
    }
    trials = trials_from_wall_times(
        staged.select("stage", "workers", "wall_s", "repeat"), suite=name
    )
    return trials.with_columns(device=pl.col("stage").replace_strict(kinds, return_dtype=pl.String))


def with_stages(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Name the family and the point of each row: `stage` becomes that of the point."""
    family = pl.col("stage") if "stage" in table.columns else pl.lit(name)
    numbered = [name for name in ("repeat", "block") if name in table.columns]
    repeat = pl.coalesce(*numbered, pl.lit(0, pl.Int64))
    names = [
        point_name(own_family, length_px, device)
        for own_family, length_px, device in table.select(
            family.alias("family"), "length_px", "device"
        ).iter_rows()
    ]
    return table.with_columns(family=family, repeat=repeat).with_columns(
        stage=pl.Series(names, dtype=pl.String)
    )


def point_name(family: str, length_px: float, device: str) -> str:
    """Name a point of a table as one of a suite is named."""
    return f"{family}_{length_px:g}px_{device}"


def _known(device: str) -> NamedDevice:
    named = device_of(device)
    assert named is not None, "the reader of the table has refused other names"
    return named


def _base(own: NamedDevice, devices: dict[str, NamedDevice]) -> str | None:
    """Name of the CPU of a device's machine; None for the CPU itself."""
    cpus = (name for name, one in devices.items() if one[:2] == (own.machine, BASE_KIND))
    return None if own.kind == BASE_KIND else next(cpus, None)

"""Points of a grid from a table of times by device and size that were measured elsewhere."""

from __future__ import annotations

import json
from typing import NamedTuple

import polars as pl

from pyscale.analysis.grid.parts import SAMPLE_SCHEMA
from pyscale.analysis.grid.points import POINT_SCHEMA, with_throughput
from pyscale.analysis.intervals import median_with_ends
from pyscale.analysis.walltimes import is_interleaved, trials_from_wall_times

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

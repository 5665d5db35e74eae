"""Rows of the tables that charts of the page and figures for papers draw, by curve and line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from pyscale.analysis.ranks.loader import LoaderFindings
from pyscale.analysis.ranks.reconstruct import TOTAL, ReconstructFindings
from pyscale.report.curves import Curve
from pyscale.report.grid.sweep import Sweep
from pyscale.report.ranks.loader import in_short, names_of, varied_in
from pyscale.report.ranks.reconstruct import NAMES, images, timed
from pyscale.report.results import Results
from pyscale.wording import phase
from pyscale_stages.reconstruction import COMPONENTS

Row = dict[str, Any]
ENDS = ("", "_low", "_high")
OF_CONFIGURATIONS = (
    *("workers", "repeats", "invalid", "flags", "baseline_workers", "work", "worker_seconds"),
    *("wall_s", "wall_s_low", "wall_s_high"),
    *("speedup", "speedup_low", "speedup_high", "efficiency", "efficiency_low", "efficiency_high"),
)
OF_TRIALS = ("trial", "workers", "block", "wall_s", "cache_state", "phase_read_s")
OF_POINTS = (
    *("length_px", "megapixels", "throughput_mp_s", "first_s", "gpu_own_peak_bytes"),
    *("trials", "flags"),
)
OF_COMPONENTS = (
    *("workers", "baseline_workers", "speedup", "speedup_low", "speedup_high"),
    *("efficiency", "efficiency_low", "efficiency_high", "normalised_efficiency"),
    *("seconds", "share", "flags"),
)
OF_LOADERS = (
    *("workers", "effective_slides", "on_front", "keeps_diversity", "consumed_per_s"),
    *("patches_per_s", "patches_per_s_low", "patches_per_s_high", "flags"),
)
LABELS = ("pool_size", "patches_per_slide", "patches_per_visit", "batch_size")
"""Settings of a loader that label a mark on the front, where they differ."""
COMPONENT_NAMES = [NAMES[name] for name in (TOTAL, *COMPONENTS)]


def configuration_rows(found: Sequence[Curve]) -> list[Row]:
    """Every configuration that was timed."""
    return [
        {"curve": curve.name} | {name: row.get(name) for name in OF_CONFIGURATIONS}
        for curve in found
        for row in curve.timed
    ]


def trial_rows(found: Sequence[Curve], trials: pl.DataFrame) -> list[Row]:
    """Every timed trial."""
    return [
        {"curve": curve.name, **row}
        for curve in found
        for row in curve.select(trials).filter("valid").select(OF_TRIALS).to_dicts()
    ]


def loss_rows(found: Sequence[Curve], losses: pl.DataFrame) -> list[Row]:
    """Worker-seconds by part; parts that took nothing are left out."""
    whole = pl.col("worker_seconds").sum().over("workers")
    return [
        {"curve": curve.name, "panel": curve.name, **row, "part": phase(row["part"])}
        for curve in found
        for row in curve.select(losses)
        .with_columns(share=pl.col("worker_seconds") / whole)
        .filter(pl.col("worker_seconds") > 0)
        .select("workers", "part", "worker_seconds", "growth_s", "share")
        .to_dicts()
    ]


def lines_of(found: Sequence[Sweep]) -> list[str]:
    """Lines of any sweep, so that each has one colour everywhere."""
    return list(dict.fromkeys(line.name for sweep in found for line in sweep.lines))


def point_rows(sweep: Sweep) -> Iterator[Row]:
    """Points of a sweep with the time of a call, and of each megapixel of it."""
    for line in sweep.lines:
        for row in line.timed(sweep.measure):
            calls = {end: row[f"{sweep.measure}_s{end}"] for end in ENDS}
            yield {
                "curve": sweep.name,
                "line": line.name,
                **{name: row[name] for name in OF_POINTS},
                **{f"call_s{end}": at for end, at in calls.items()},
                **{f"each_s{end}": at and at / row["megapixels"] for end, at in calls.items()},
                "ratio": row["ratio"] and row["ratio"]["ratio"],
            }


def ratio_rows(found: Sequence[Sweep]) -> list[Row]:
    """How many times as fast a line is as what it is compared with."""
    columns = ("length_px", "base", "base_s", "value_s", "trials")
    return [
        {"curve": sweep.name, "line": line.name}
        | {name: row[name] for name in (*columns, *(f"ratio{end}" for end in ENDS))}
        for sweep in found
        for line in sweep.compared
        for row in line.ratios(sweep.measure)
    ]


def component_rows(results: Results) -> list[Row]:
    """Components of an iteration over ranks."""
    return [
        {"curve": point["name"], "panel": point["name"], "part": NAMES[name]}
        | {column: point["components"][name][column] for column in OF_COMPONENTS}
        for found in results.every(ReconstructFindings)
        for point in timed(images(found))
        for name in (TOTAL, *COMPONENTS)
    ]


def loader_rows(results: Results) -> list[Row]:
    """Configurations of a loader whose diversity is known, by their number of processes."""
    loader = results.of(LoaderFindings)
    every = loader.points.to_dicts() if loader else []
    names, varied = names_of(every), varied_in(every)
    sizes = [name for name in ("patch_px", "mpp") if name in varied]
    labels = [name for name in LABELS if name in varied]
    return [
        {"curve": ", ".join((f"N = {row['workers']}", *in_short(row, sizes)))}
        | {"configuration": names[row["stage"]], "line": _processes(row, "factory" in varied)}
        | {"label": "/".join(str(row[name]) for name in labels)}
        | {column: row[column] for column in OF_LOADERS}
        for row in sorted(every, key=lambda row: row["num_workers"])
        if row["on_front"] is not None
    ]


def _processes(row: Row, names_factory: bool) -> str:
    count = row["num_workers"]
    factory = f", {row['factory'].rpartition(':')[2]}" if names_factory else ""
    return f"{count} loader process{'es' * (count != 1)}{factory}"

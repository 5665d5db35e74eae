"""Results of a grid of sizes and devices that nobody measured, made up after published ratios."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from pyscale.analysis.grid.findings import grid_findings, grid_findings_of_table
from pyscale.analysis.timeline import timeline_of
from pyscale.analysis.trials import trial_table
from pyscale.analysis.workers import worker_table
from pyscale.references.files import load_reference
from pyscale.report.context import ReportContext
from pyscale.results import analysed
from pyscale.store.tables import call_schema, task_schema
from runbuilder import RunBuilder

SIZES = (*range(224, 2017, 224), 2352)
PARTS = {"cpu": 13.0, "cuda": 0.55, "mps": 3.1}
"""Seconds of the network for each megapixel, by device."""
STEADY_S = {"cpu": 0.05, "cuda": 0.06, "mps": 0.2}
"""Seconds of a call that do not depend on the size."""


def made_up(
    devices=("cpu", "cuda"),
    sizes=SIZES,
    *,
    repeats=6,
    models=("pyscale-tiny",),
    workers=(1,),
    builds=False,
    parts=True,
    beside=True,
    scaling=False,
    references=True,
):
    """Analyse a run of one family, with references of other machines.

    `builds` has the model built before each call, as the published protocol did; `scaling` adds an
    entry without a grid at N = 1 and 2.
    """
    random = np.random.default_rng(7)
    run = RunBuilder()
    calls = []
    points = {}
    beside_rows = []
    for block in range(repeats):
        for model in models:
            for length_px in sizes:
                for device in devices:
                    point = {"length_px": length_px, "device": device, "model": model}
                    name = f"segment_{length_px}px_{device}"
                    name = name if len(models) == 1 else f"{name}_{model.replace('-', '_')}"
                    points[name] = point
                    for count in workers:
                        _trial(run, calls, name, point, count, block, random, builds, parts)
                        if beside and device != devices[0]:
                            beside_rows.append(_beside(run, name, count, block, length_px))
    if scaling:
        for block in range(repeats):
            for count in (1, 2):
                run.trial("track", [{"compute": (9.0 + block / 10) / count}] * count, block=block)
    tasks = pl.concat([run.tasks, pl.DataFrame(beside_rows, schema=task_schema())])
    tasks = _with_points(tasks, points)
    trials = trial_table(tasks, run.spans)
    results = analysed(
        trials,
        ReportContext(title="suite device, on made-up cells", settings={"cache": "warm"}),
        workers=worker_table(tasks, run.spans),
    )
    known = load_reference("cellpose-devices", Path("none"))
    return replace(
        results,
        timeline=timeline_of(tasks, run.spans, trials),
        kinds=grid_findings(
            tasks,
            pl.DataFrame(calls, schema=call_schema()),
            trials,
            results.configurations,
            versus="device",
            against="length_px",
            entries=list(points),
        ),
        beside={
            "grid": [
                (known.reference, grid)
                for grid in grid_findings_of_table(known.table, known.reference.name)
                if references
            ]
        },
    )


def _trial(run, calls, name, point, count, block, random, builds, with_parts):
    device, megapixels = point["device"], point["length_px"] ** 2 / 1e6
    noise = random.lognormal(0, 0.015)
    parts = {
        "prepare": 0.05 * megapixels,
        **({} if device == "cpu" else {"to_device": 0.01 * megapixels + 0.002}),
        "network": PARTS[device] * megapixels + STEADY_S[device] / 2,
        **({} if device == "cpu" else {"from_device": 0.015 * megapixels + 0.002}),
        "flow_dynamics": 0.25 * megapixels + STEADY_S[device] / 4,
        "mask_making": 0.3 * megapixels + 0.004,
        "mask_cleaning": 0.12 * megapixels,
    }
    parts = {part: held * noise * random.lognormal(0, 0.01) for part, held in parts.items()}
    steady_s = sum(parts.values()) / 0.99
    first_s = steady_s + {"cpu": 0.05, "cuda": 1.6, "mps": 0.7}[device] * noise
    build_s = {"cpu": 0.21, "cuda": 0.62, "mps": 0.4}[device] * noise
    objects = round(90 * megapixels) + (device != "cpu") * (point["length_px"] > 1500) * 3
    run.trial(
        name,
        [{"import": 3.0, "model_load": build_s, "compute": first_s + 2 * steady_s}] * count,
        block=block,
        quality={"ap_iou50": 0.93 - 0.0001 * block},
        device=device,
        objects=objects,
        cache_asked="warm",
        cache_state="warm",
        movie_frames=count,
    )
    trial = run.last_task["trial"]
    for worker in range(count):
        # Workers that share a GPU each take longer.
        slower = 1 + 0.35 * (count - 1)
        for call, call_s in enumerate((first_s, steady_s, steady_s * 1.004)):
            one = {
                "trial": trial,
                "stage": name,
                "family": "segment",
                "workers": count,
                "block": block,
                "task": f"w{worker}",
                "frame": worker,
                "call": call,
                "pixels": point["length_px"] ** 2,
                "objects": objects,
            }
            calls.append(one | {"part": None, "wall_s": call_s * slower})
            if call == 0 or builds:
                calls.append(one | {"part": "build", "wall_s": build_s})
            if with_parts:
                calls += [
                    one | {"part": part, "wall_s": held * slower} for part, held in parts.items()
                ]


def _beside(run, name, count, block, length_px):
    objects = round(90 * length_px**2 / 1e6)
    more = 3 * (length_px > 1500)
    return run.last_task | {
        "task": "beside",
        "verb": "check",
        "agreement": None,
        "agreement_same": None,
        "quality": "{}",
        "beside_details": json.dumps(
            {
                "ap_iou50": 1.0 - more / 400,
                "ap_iou90": 0.97 - more / 100,
                "cells_other": objects + more,
                "cells_reference": objects,
            }
        ),
    }


def _with_points(tasks, points):
    device = pl.col("device")
    on_gpu = pl.when(device != "cpu")
    family = pl.col("stage").is_in(list(points))
    lengths = {name: point["length_px"] for name, point in points.items()}
    megapixels = pl.col("stage").replace_strict(lengths, default=0, return_dtype=pl.Float64)
    return tasks.with_columns(
        family=pl.when(family).then(pl.lit("segment")).otherwise("stage"),
        point=pl.col("stage").replace_strict(
            {name: json.dumps(point) for name, point in points.items()}, default="{}"
        ),
        threads=pl.lit(4),
        gpu_sharing=on_gpu.then(pl.lit("own")),
        gpu_own_peak_bytes=on_gpu.then((2**28 + 6e2 * megapixels**2).cast(pl.Int64, strict=False)),
        gpu_energy_j=on_gpu.then(20 + 40 * megapixels**2 / 1e6),
    )

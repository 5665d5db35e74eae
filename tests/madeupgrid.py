"""Results of a grid of sizes and devices that nobody measured, made up after published ratios."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from gridbuilder import GridBuilder
from pyscale.analysis.grid.findings import grid_findings_of_table
from pyscale.analysis.timeline import timeline_of
from pyscale.references.files import load_reference

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
    run = GridBuilder()
    for block, model, length_px, device in product(range(repeats), models, sizes, devices):
        name = f"segment_{length_px}px_{device}"
        name = name if len(models) == 1 else f"{name}_{model.replace('-', '_')}"
        point = {"length_px": length_px, "device": device, "model": model}
        compared = _compared(length_px) if beside and device != devices[0] else None
        for count in workers:
            _trial(run, name, point, count, block, random, builds, parts, compared)
    entries = run.entries
    if scaling:
        run.curve("track", lambda n, block: (9.0 + block / 10) / n, (1, 2), repeats)
    trials = run.trials
    results = run.results("suite device, on made-up cells", settings={"cache": "warm"})
    known = load_reference("cellpose-devices", Path("none"))
    return replace(
        results,
        timeline=timeline_of(run.tasks, run.spans, trials),
        kinds=run.findings(trials, entries=entries),
        beside={
            "grid": [
                (known.reference, grid)
                for grid in grid_findings_of_table(known.table, known.reference.name)
                if references
            ]
        },
    )


def _trial(run, name, point, count, block, random, builds, with_parts, compared):
    device, length_px = point["device"], point["length_px"]
    megapixels, on_gpu = length_px**2 / 1e6, device != "cpu"
    noise = random.lognormal(0, 0.015)
    parts = {
        "prepare": 0.05 * megapixels,
        **({"to_device": 0.01 * megapixels + 0.002} if on_gpu else {}),
        "network": PARTS[device] * megapixels + STEADY_S[device] / 2,
        **({"from_device": 0.015 * megapixels + 0.002} if on_gpu else {}),
        "flow_dynamics": 0.25 * megapixels + STEADY_S[device] / 4,
        "mask_making": 0.3 * megapixels + 0.004,
        "mask_cleaning": 0.12 * megapixels,
    }
    parts = {part: held * noise * random.lognormal(0, 0.01) for part, held in parts.items()}
    steady_s = sum(parts.values()) / 0.99
    first_s = steady_s + {"cpu": 0.05, "cuda": 1.6, "mps": 0.7}[device] * noise
    build_s = {"cpu": 0.21, "cuda": 0.62, "mps": 0.4}[device] * noise
    # Workers that share a GPU each take longer.
    slower = 1 + 0.35 * (count - 1)
    run.at(
        point,
        *[[call_s * slower for call_s in (first_s, steady_s, steady_s * 1.004)]] * count,
        block=block,
        builds=[build_s] * (3 if builds else 1),
        parts={part: held * slower for part, held in parts.items()} if with_parts else None,
        phases={"import": 3.0, "model_load": build_s, "compute": first_s + 2 * steady_s},
        quality={"ap_iou50": 0.93 - 0.0001 * block},
        objects=round(90 * megapixels) + on_gpu * (length_px > 1500) * 3,
        movie_frames=count,
        stage=name,
        beside=compared,
        threads=4,
        gpu_own_peak_bytes=int(2**28 + 6e2 * length_px**2) if on_gpu else None,
    )


def _compared(length_px):
    """What the output of a device has of that of the base."""
    objects, more = round(90 * length_px**2 / 1e6), 3 * (length_px > 1500)
    return {
        "ap_iou50": 1.0 - more / 400,
        "ap_iou90": 0.97 - more / 100,
        "cells_other": objects + more,
        "cells_reference": objects,
    }

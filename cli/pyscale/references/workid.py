"""Fingerprints of work: times of equal ones are those of the same work."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyscale.planning.plan import Plan, Trial
from pyscale.planning.sweep import Sweep
from pyscale.planning.traits import measures_alone
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import InputFile, read_provenance
from pyscale_stages.reading import Reading

HOW_MANY = frozenset(
    {
        *("repeats", "tests", "gpus", "modes", "readers", "cache_folder"),
        *("movie_formats", "codecs", "threads"),
        *("particles", "micrographs", "cutoffs", "small_files"),
    }
)
"""Parameters of machine stages that choose tests, or say how often and how many: what is done once
is as large whatever they are."""


def size_ids_of(plan: Plan) -> dict[str, str]:
    """Fingerprint of how large an image, map or file is in each entry that measures the machine."""
    return {
        trial.entry: hashlib.sha256(
            json.dumps(
                {name: value for name, value in trial.params.items() if name not in HOW_MANY},
                sort_keys=True,
            ).encode()
        ).hexdigest()
        for trial in plan.trials
        if measures_alone(trial.stage)
    }


def work_id_of(run: RunFolder) -> str:
    """Fingerprint of the input's bytes, how they are read, and the parameters of its stages.

    Names of files, folders and machines do not count, nor how the work was shared, started or
    repeated, nor what the node can do, measured beside the work on a movie.
    """
    plan, sweep = run.plan, Sweep.of(run.plan)
    files = read_provenance(run.path).input_files
    work = {
        "input": sorted((file.size_bytes, file.sha256) for file in files),
        **_chosen(plan.reading),
        # In weak scaling only the work of each worker is the same at every N.
        "frames_per_worker" if sweep.is_weak else "frames": (
            sweep.frames_per_worker if sweep.is_weak else plan.movie_frames
        ),
        "stages": {
            trial.entry: {
                "stage": trial.stage,
                "inputs": plan.suite.stages[trial.entry].inputs,
                "params": _params(trial),
                **_own_data(plan, trial, files),
                **({"tolerance": own} if (own := plan.tolerance_of(trial)) else {}),
            }
            for trial in plan.scaling_trials
            if trial.is_reference
        },
    }
    # In one order of keys, as equal work must have one fingerprint.
    return hashlib.sha256(json.dumps(work, sort_keys=True).encode()).hexdigest()


def _chosen(reading: Reading | None) -> dict[str, Any]:
    """What was chosen of the files; which of them shows in their bytes."""
    given: dict[str, Any] = {} if reading is None else dict(reading.given)
    given.pop("pattern", None)
    axes = given.pop("axes", None)
    # Work that was measured when axes alone could be chosen has the fingerprint that it had.
    return {"axes": axes, **({"read": given} if given else {})}


def _params(trial: Trial) -> dict[str, Any]:
    """Parameters; the only format that outputs once had is no choice."""
    usual = ("output_format", "ome-tiff")
    return {name: value for name, value in trial.params.items() if (name, value) != usual}


def _own_data(plan: Plan, trial: Trial, files: Iterable[InputFile]) -> dict[str, Any]:
    """What distinguishes the data of an entry that has its own."""
    if trial.data is None:
        return {}
    own = next(own for own in plan.own_data if own.data == trial.data)
    folder = f"{Path(trial.data).name}/"
    return {
        "data": sorted(
            (file.size_bytes, file.sha256) for file in files if file.name.startswith(folder)
        ),
        **_chosen(own.reading),
        "frames": own.frames,
    }

"""A fingerprint of the work of a run: wall times of equal ones are those of the same work."""

from __future__ import annotations

import hashlib
import json

from pyscale.store.folder import RunFolder
from pyscale.store.provenance import read_provenance
from pyscale.sweep import Sweep


def work_id_of(run: RunFolder) -> str:
    """Fingerprint of the input's bytes, how they are read, and the parameters of every stage.

    Names of files, folders and machines do not count, nor how the work was shared, started or
    repeated: the same work on another machine has the same fingerprint.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    UserError
        If the run does not tell what it was made from.
    """
    plan, sweep = run.plan, Sweep.of(run.plan)
    files = read_provenance(run.path).input_files
    work = {
        "input": sorted((file.size_bytes, file.sha256) for file in files),
        "axes": plan.axes,
        "frames_per_worker" if sweep.is_weak else "frames": (
            sweep.frames_per_worker if sweep.is_weak else plan.movie_frames
        ),
        "stages": {
            trial.entry: {
                "stage": trial.stage,
                "inputs": plan.suite.stages[trial.entry].inputs,
                "params": trial.params,
            }
            for trial in plan.trials
            if trial.is_reference
        },
    }
    return hashlib.sha256(json.dumps(work, sort_keys=True).encode()).hexdigest()

"""The provenance manifest: what ran, where, and from what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyscale.store.folder import RunFolder
from pyscale.store.provenance import read_provenance
from pyscale.store.sources import Sources, read_sources
from pyscale_stages.atomic import write_atomically

MANIFEST_FILE = "provenance_manifest.json"


def build_manifest(run: RunFolder, sources: Sources | None = None) -> dict[str, Any]:
    """Collect the provenance of a run from what was frozen at its start and its records.

    Parameters
    ----------
    run : RunFolder
    sources : Sources, optional
        What its records tell, where they were read for its tables; without it they are read.

    Returns
    -------
    dict
        The plan's facts, the input and the images with their sha256, the base version, the folder
        whose storage was measured, the versions of the application and of each stage's libraries,
        every distinct hardware stamp with the tasks that ran on it, the output of each stage's
        reference trial with its sha256, and warnings.

    Raises
    ------
    UserError
        If the run does not tell what it was made from.
    """
    plan = run.plan
    told = read_sources(run) if sources is None else sources
    origin = read_provenance(run.path)
    return {
        "run_id": plan.run_id,
        "pyscale": {
            "version": origin.pyscale_version,
            "git_commit": origin.git_commit,
            "git_dirty": origin.git_dirty,
        },
        "python": origin.python_version,
        "containers": None
        if origin.containers is None
        else origin.containers.model_dump(mode="json"),
        "suite": plan.suite.model_dump(mode="json"),
        "settings": plan.settings,
        "input": {
            "path": None if plan.movie is None else str(plan.movie),
            plan.suite.unit: plan.movie_frames,
            "files": [file.model_dump(mode="json") for file in origin.input_files],
            "truth": [file.model_dump(mode="json") for file in origin.truth_files],
            "own_data": [own.model_dump(mode="json") for own in plan.own_data],
        },
        "base": None
        if plan.base is None
        else plan.base.model_dump(mode="json") | {"versions": told.base_versions},
        "place": None if plan.place is None else str(plan.place),
        "order": [trial.id for trial in plan.trials],
        "versions": told.versions,
        "determinism": told.determinism,
        "hardware": told.hardware,
        "outputs": told.outputs,
        "warnings": told.all_warnings,
    }


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write a manifest of `build_manifest` into a folder."""
    text = json.dumps(manifest, indent=1, default=str) + "\n"
    write_atomically(folder / MANIFEST_FILE, text)

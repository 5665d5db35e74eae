"""The provenance manifest: what ran, where, and from what."""

from __future__ import annotations

import json
from typing import Any

from pyscale.runtimes.words import SLOW_START
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import read_provenance
from pyscale.store.records import image_was_unpacked, read_task
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import TaskResult

MANIFEST_FILE = "provenance_manifest.json"


def build_manifest(run: RunFolder) -> dict[str, Any]:
    """Collect the provenance of a run from what was frozen at its start and its records.

    Returns
    -------
    dict
        The plan's facts, the input and the images with their sha256, the versions of the
        application and of each stage's libraries, every distinct hardware stamp with the tasks
        that ran on it, the output of each stage's reference trial with its sha256, and warnings.
    """
    results = list(_results(run))
    hardware: dict[str, dict[str, Any]] = {}
    for task, result in results:
        label = str(result.stamp.get("label", "unknown"))
        hardware.setdefault(label, {"stamp": result.stamp, "tasks": []})["tasks"].append(task)
    plan = run.plan
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
            "path": str(plan.movie),
            "frames": plan.movie_frames,
            "files": [file.model_dump(mode="json") for file in origin.input_files],
        },
        "order": [trial.id for trial in plan.trials],
        "versions": {result.spec.stage: result.versions for _, result in results},
        "determinism": {result.spec.stage: result.determinism for _, result in results},
        "hardware": hardware,
        "outputs": {
            trial.entry: [
                output.model_dump(mode="json")
                for _, result in _results(run, trial.id)
                for output in result.outputs
            ]
            for trial in plan.trials
            if trial.is_reference
        },
        "warnings": sorted({warning for _, result in results for warning in result.warnings})
        + _slow_starts(run),
    }


def write_manifest(run: RunFolder) -> dict[str, Any]:
    """Write the manifest into the run folder, and return it."""
    manifest = build_manifest(run)
    text = json.dumps(manifest, indent=1, default=str) + "\n"
    write_atomically(run.path / MANIFEST_FILE, text)
    return manifest


def _results(run: RunFolder, only: str | None = None) -> list[tuple[str, TaskResult]]:
    found = []
    for trial in run.plan.trials:
        if only is not None and trial.id != only:
            continue
        for task in trial.tasks:
            result = read_task(run.task(trial, task)).result
            if result is not None:
                found.append((f"{trial.id}/{task}", result))
    return found


def _slow_starts(run: RunFolder) -> list[str]:
    """Say which tasks waited while a container program unpacked their image."""
    slow = [
        f"{trial.id}/{task}"
        for trial in run.plan.trials
        if trial.image is not None
        for task in trial.tasks
        if image_was_unpacked(run.task(trial, task))
    ]
    return [f"{', '.join(slow)}: {SLOW_START}"] if slow else []

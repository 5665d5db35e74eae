"""The provenance manifest: what ran, where, and from what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pyscale.plan import Trial
from pyscale.runtimes.words import SLOW_START
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import read_provenance
from pyscale.store.taskfiles import image_was_unpacked, read_task
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
    plan = run.plan
    hardware: dict[str, dict[str, Any]] = {}
    versions: dict[str, dict[str, str]] = {}
    determinism: dict[str, str] = {}
    outputs: dict[str, list[dict[str, Any]]] = {t.entry: [] for t in plan.trials if t.is_reference}
    warnings: set[str] = set()
    # One result at a time: those of ten thousand tasks would not fit into memory.
    for trial, task, result in _results(run):
        label = str(result.stamp.get("label", "unknown"))
        found = hardware.setdefault(label, {"stamp": result.stamp, "tasks": []})
        found["tasks"].append(f"{trial.id}/{task}")
        versions[result.spec.stage] = result.versions
        determinism[result.spec.stage] = result.determinism
        warnings.update(result.warnings)
        if trial.is_reference:
            outputs[trial.entry] += [file.model_dump(mode="json") for file in result.outputs]
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
        "versions": versions,
        "determinism": determinism,
        "hardware": hardware,
        "outputs": outputs,
        "warnings": sorted(warnings) + _slow_starts(run),
    }


def write_manifest(run: RunFolder) -> dict[str, Any]:
    """Write the manifest into the run folder, and return it."""
    manifest = build_manifest(run)
    text = json.dumps(manifest, indent=1, default=str) + "\n"
    write_atomically(run.path / MANIFEST_FILE, text)
    return manifest


def _results(run: RunFolder) -> Iterator[tuple[Trial, str, TaskResult]]:
    for trial in run.plan.trials:
        for task in trial.tasks:
            result = read_task(run.task(trial, task)).result
            if result is not None:
                yield trial, task, result


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

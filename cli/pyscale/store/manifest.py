"""The provenance manifest: what ran, where, and from what, by the records of tasks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyscale.planning.plan import Trial
from pyscale.store.containererrors import SLOW_START
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import read_provenance
from pyscale.store.records import TaskRecord
from pyscale.store.taskfiles import RecordError, image_was_unpacked
from pyscale_stages.atomic import write_atomically
from pyscale_stages.timing import Timing

_OF_PLACES = ("place_", "cache_", "device_")


@dataclass
class Sources:
    """What a run's records told, collected one task at a time: all would not fit into memory."""

    hardware: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By its label: `stamp` as first recorded, and `tasks` that ran on it."""
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    entry_versions: dict[str, dict[str, str]] = field(default_factory=dict)
    """By entry: its libraries, which two entries of one stage may have in two versions."""
    determinism: dict[str, str] = field(default_factory=dict)
    """By stage: what is reproducible with one seed."""
    outputs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """By entry: files of its reference trial, with their sha256."""
    warnings: set[str] = field(default_factory=set)
    slow_starts: list[str] = field(default_factory=list)
    """Tasks that waited while a container program unpacked their image."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """By trial that has a record which cannot be read: a sentence on it."""
    places: dict[str, dict[str, str]] = field(default_factory=dict)
    """By node: what tests of the machine said of it beside times, like `place_filesystem`."""

    def add(self, run: RunFolder, trial: Trial, task: str, record: TaskRecord) -> None:
        """Take in the record of one task; in the order of the plan, which decides what is first."""
        name = f"{trial.id}/{task}"
        if trial.image is not None and image_was_unpacked(run.task(trial, task)):
            self.slow_starts.append(name)
        if trial.is_reference:
            self.outputs.setdefault(trial.entry, [])
        result = record.result
        if result is None:
            return
        label = str(result.stamp.get("label", "unknown"))
        found = self.hardware.setdefault(label, {"stamp": result.stamp, "tasks": []})
        found["tasks"].append(name)
        # Windows may tell what a merge or a check has no need of.
        for known, name in ((self.versions, result.spec.stage), (self.entry_versions, trial.entry)):
            known.setdefault(name, {}).update(result.versions)
        self.determinism[result.spec.stage] = result.determinism
        self.warnings.update(result.warnings)
        if result.samples.get(Timing.kept_as) and record.launch is not None:
            self.places.setdefault(record.launch.node, {}).update(
                (key, text) for key, text in result.versions.items() if key.startswith(_OF_PLACES)
            )
        if trial.is_reference:
            self.outputs[trial.entry] += [file.model_dump(mode="json") for file in result.outputs]

    def leave_out(self, run: RunFolder, trial: Trial, error: RecordError) -> None:
        """Note that a trial tells nothing, and why."""
        record = error.path.relative_to(run.path)
        self.unreadable[trial.id] = (
            f"The trial {trial.id} is left out: its record {record} cannot be read "
            f"({error.problem})."
        )


MANIFEST_FILE = "provenance_manifest.json"


def build_manifest(run: RunFolder, told: Sources) -> dict[str, Any]:
    """The provenance of a run, by what was frozen at its start and what its records told."""
    plan = run.plan
    slow = [f"{', '.join(told.slow_starts)}: {SLOW_START}"] if told.slow_starts else []
    frozen = read_provenance(run.path).model_dump(mode="json")
    kept = {"suite", "movie", "own_data", "identities", "place"}
    planned = plan.model_dump(mode="json", include=kept)
    return {
        "run_id": plan.run_id,
        "pyscale": {
            "version": frozen["pyscale_version"],
            "git_commit": frozen["git_commit"],
            "git_dirty": frozen["git_dirty"],
        },
        "python": frozen["python_version"],
        "containers": frozen["containers"],
        "suite": planned["suite"],
        "settings": plan.settings,
        "input": {
            "path": planned["movie"],
            plan.suite.unit: plan.movie_frames,
            "files": frozen["input_files"],
            "truth": frozen["truth_files"],
            "own_data": planned["own_data"],
        },
        "identities": planned["identities"],
        "place": planned["place"],
        "order": [trial.id for trial in plan.trials],
        "versions": told.versions,
        "entry_versions": told.entry_versions if plan.identities else {},
        "determinism": told.determinism,
        "hardware": told.hardware,
        "outputs": told.outputs,
        "warnings": sorted(told.warnings) + slow,
    }


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write a manifest of `build_manifest` into a folder."""
    text = json.dumps(manifest, indent=1, default=str) + "\n"
    write_atomically(folder / MANIFEST_FILE, text)

"""The provenance manifest: what ran, where, and from what, by the records of tasks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyscale.plan import Trial
from pyscale.runtimes.words import SLOW_START
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import read_provenance
from pyscale.store.records import TaskRecord
from pyscale.store.taskfiles import RecordError, image_was_unpacked, read_task
from pyscale_stages.atomic import write_atomically
from pyscale_stages.timing import Timing

_PLACE_PREFIXES = ("place_", "cache_", "device_")


@dataclass
class Sources:
    """What a run's records told, collected one task at a time.

    Those of ten thousand tasks would not fit into memory at once.
    """

    hardware: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By its label: `stamp` as first recorded, and `tasks` that ran on it."""
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    """By stage: its libraries."""
    base_versions: dict[str, dict[str, str]] = field(default_factory=dict)
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
        is_base = run.plan.suite.stages[trial.entry].version_of is not None
        versions = self.base_versions if is_base else self.versions
        # Windows may tell what a merge or a check has no need of.
        for known, name in ((versions, result.spec.stage), (self.entry_versions, trial.entry)):
            known[name] = known.get(name, {}) | result.versions
        self.determinism[result.spec.stage] = result.determinism
        self.warnings.update(result.warnings)
        if result.of(Timing) and record.launch is not None:
            self.places.setdefault(record.launch.node, {}).update(_told_of_place(result.versions))
        if trial.is_reference:
            self.outputs[trial.entry] += [file.model_dump(mode="json") for file in result.outputs]

    def leave_out(self, run: RunFolder, trial: Trial, error: RecordError) -> None:
        """Note that a trial tells nothing, and why."""
        record = error.path.relative_to(run.path)
        self.unreadable[trial.id] = (
            f"The trial {trial.id} is left out: its record {record} cannot be read "
            f"({error.problem})."
        )

    @property
    def all_warnings(self) -> list[str]:
        """Every warning, and which tasks started slowly."""
        slow = [f"{', '.join(self.slow_starts)}: {SLOW_START}"] if self.slow_starts else []
        return sorted(self.warnings) + slow


def _told_of_place(versions: dict[str, str]) -> dict[str, str]:
    return {
        key: text
        for key, text in versions.items()
        if key.startswith(_PLACE_PREFIXES) or key == "fio"
    }


def read_sources(run: RunFolder) -> Sources:
    """Read the records of a run for them alone; `build_tables` finds them beside its tables."""
    sources = Sources()
    for trial in run.plan.trials:
        try:
            records = {task: read_task(run.task(trial, task)) for task in trial.tasks}
        except RecordError as error:
            sources.leave_out(run, trial, error)
            continue
        for task, record in records.items():
            sources.add(run, trial, task, record)
    return sources


MANIFEST_FILE = "provenance_manifest.json"


def build_manifest(run: RunFolder, sources: Sources | None = None) -> dict[str, Any]:
    """Collect the provenance of a run from what was frozen at its start and its records.

    Its records are read, unless they were for its tables: what they tell is in `sources` then.
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

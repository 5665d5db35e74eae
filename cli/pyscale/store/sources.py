"""Hardware, software, outputs and warnings from the records of tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyscale.plan import Trial
from pyscale.runtimes.words import SLOW_START
from pyscale.store.folder import RunFolder
from pyscale.store.records import TaskRecord
from pyscale.store.taskfiles import RecordError, image_was_unpacked, read_task

_PLACE_PREFIXES = ("place_", "cache_", "device_")


@dataclass
class Sources:
    """What a run's records told, collected one task at a time.

    Those of ten thousand tasks would not fit into memory at once.

    Attributes
    ----------
    hardware : dict
        By its label: `stamp` as first recorded, and `tasks` that ran on it.
    versions, determinism : dict
        By stage: its libraries, and what is reproducible with one seed.
    entry_versions : dict
        By entry of the suite: its libraries, which two entries of one stage may have in two
        versions.
    outputs : dict
        By entry of the suite: files of its reference trial, with their sha256.
    warnings : set of str
        What tasks warned of.
    slow_starts : list of str
        Tasks that waited while a container program unpacked their image.
    unreadable : dict
        By trial that has a record which cannot be read: a sentence on it.
    places : dict
        By node: what tests of the machine said of it beside times, like `place_filesystem`,
        `cache_device`, `fio`, and `device_0`, the name of its first GPU.
    """

    hardware: dict[str, dict[str, Any]] = field(default_factory=dict)
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    base_versions: dict[str, dict[str, str]] = field(default_factory=dict)
    entry_versions: dict[str, dict[str, str]] = field(default_factory=dict)
    determinism: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    warnings: set[str] = field(default_factory=set)
    slow_starts: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    places: dict[str, dict[str, str]] = field(default_factory=dict)

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
        versions[result.spec.stage] = result.versions
        self.entry_versions[trial.entry] = result.versions
        self.determinism[result.spec.stage] = result.determinism
        self.warnings.update(result.warnings)
        if result.timings and record.launch is not None:
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

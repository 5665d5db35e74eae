"""What the trials of a run gave, from their records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pyscale.plan import Trial
from pyscale.store.folder import RunFolder
from pyscale.store.records import TaskRecord
from pyscale.store.taskfiles import RecordError, read_task

OBJECTS = "objects"
"""Measure of how many cells, contacts or links an output holds."""


class MeasuredTrial(NamedTuple):
    """Output of one trial that is complete."""

    workers: int
    outputs: dict[str, str]
    """Checksum of each file."""
    measures: dict[str, float]
    same: bool
    """Whether the output is the baseline's, within the stage's own tolerance."""


class MeasuredEntry(NamedTuple):
    """Trials of one entry of a suite."""

    trials: list[MeasuredTrial]
    why_not: str
    """Why a trial has no output, where one has none."""


def measured_entries(run: RunFolder) -> dict[str, MeasuredEntry]:
    """Read what each entry of a run gave, in the order of the suite."""
    found: dict[str, MeasuredEntry] = {}
    for entry in run.plan.suite.stages:
        trials, why_not = [], ""
        own = [trial for trial in run.plan.trials if trial.entry == entry]
        for trial in own:
            try:
                records = {task: read_task(run.task(trial, task)) for task in trial.tasks}
            except RecordError as error:
                why_not = why_not or f"{trial.id} has a record that is wrong: {error.problem}"
                continue
            if all(record.state == "done" for record in records.values()):
                trials.append(_measured(trial, records))
            else:
                why_not = why_not or _why_not(trial, records)
        if own:
            found[entry] = MeasuredEntry(trials, why_not)
    return found


def _measured(trial: Trial, records: Mapping[str, TaskRecord]) -> MeasuredTrial:
    output = records[trial.output_task].result
    assert output is not None, "what is done has a record"
    checked = records["check"].result if "check" in records else None
    measures = dict(checked.quality) if checked else {}
    if output.counters.objects:
        measures[OBJECTS] = float(output.counters.objects)
    agreement = checked.agreement if checked else None
    return MeasuredTrial(
        workers=trial.workers,
        outputs={file.name: file.sha256 for file in output.outputs},
        measures=measures,
        same=agreement is None or agreement.same,
    )


def _why_not(trial: Trial, records: Mapping[str, TaskRecord]) -> str:
    """Say what failed first, or that nothing began."""
    for task, record in records.items():
        if record.error is not None:
            return f"{trial.id}/{task} failed: {record.error.message}"
    return f"{trial.id} has no record: its input is not there, or the run was interrupted"

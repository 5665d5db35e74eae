"""The validation of a run: what it gave beside what its suite expects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from pyscale.planning.plan import Trial
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import read_provenance
from pyscale.store.records import TaskRecord
from pyscale.store.taskfiles import RecordError, read_task
from pyscale.validation.expected import (
    Expected,
    ExpectedStage,
    StageFinding,
    ValidationFindings,
    Verdict,
    load_expected,
    other_work,
)

OBJECTS = "objects"
"""Measure of how many cells, contacts or links an output holds."""


def validation_of(run: RunFolder) -> ValidationFindings | None:
    """Judge a run; None where its suite expects nothing."""
    suite = run.plan.suite
    if suite.expected is None:
        return None
    expected = load_expected(suite.expected)
    return judged(expected, measured_of(run), _why_unfit(run, expected))


def _why_unfit(run: RunFolder, expected: Expected) -> str:
    """Say in a clause why what it gave proves nothing; empty where it does."""
    for clause in other_work(run.plan, expected):
        return clause
    given = {file.name: file.sha256 for file in read_provenance(run.path).input_files}
    others = [name for name, sha256 in expected.inputs.items() if given.get(name) != sha256]
    if not others:
        return ""
    return (
        f"{' and '.join(others)} is made from the same seed but differs from the reference "
        f"installation, as with another NumPy (there: {expected.reference.software})"
    )


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


def measured_of(run: RunFolder) -> dict[str, MeasuredEntry]:
    """Read what each entry of a run gave, in the order of the suite."""
    found: dict[str, MeasuredEntry] = {}
    for entry in run.plan.suite.stages:
        trials, why_not = [], ""
        own = [trial for trial in run.plan.trials if trial.entry == entry]
        for trial in own:
            try:
                records = {task: read_task(run.task(trial, task)) for task in trial.tasks}
            except RecordError as error:
                why_not = why_not or f"{trial.id} has an invalid record: {error.problem}"
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
    # Of a stage that counts none it is 0 too, but of that one no count is expected.
    measures[OBJECTS] = float(output.counters.objects)
    agreement = checked.agreement if checked else None
    return MeasuredTrial(
        workers=trial.workers,
        outputs={file.name: file.sha256 for file in output.outputs},
        measures=measures,
        # What was not compared does not disagree.
        same=agreement is None or agreement.same,
    )


def _why_not(trial: Trial, records: Mapping[str, TaskRecord]) -> str:
    """Say what failed first, or that nothing began."""
    for task, record in records.items():
        if record.error is not None:
            return f"{trial.id}/{task} failed: {record.error.message}"
    return f"{trial.id} has no record: its input is missing, or the run was interrupted"


def judged(
    expected: Expected, measured: Mapping[str, MeasuredEntry], why_unfit: str = ""
) -> ValidationFindings:
    """Judge every entry, and the whole by them.

    An entry is identical where every trial left the bytes of the reference, and wrong where a
    measure of any trial is beyond a bound, was not measured or is no number, or where its own
    trials disagree.
    """
    stages = tuple(
        _stage(entry, stage, measured.get(entry), why_unfit)
        for entry, stage in expected.stages.items()
    )
    return ValidationFindings(
        verdict=_whole({found.verdict for found in stages}),
        why=why_unfit,
        reference=expected.reference,
        stages=stages,
    )


def _whole(verdicts: set[str]) -> Verdict:
    if "wrong" in verdicts:
        return "wrong"
    judged_at_all = verdicts & {"identical", "right"}
    return "cannot say" if not judged_at_all or verdicts & {"not run", "cannot say"} else "right"


def _stage(
    entry: str, stage: ExpectedStage, measured: MeasuredEntry | None, why_unfit: str
) -> StageFinding:
    if measured is None:
        return StageFinding(entry=entry, verdict="left out", trials=0)
    trials = measured.trials
    if not trials:
        return StageFinding(entry=entry, verdict="not run", trials=0, why=measured.why_not)
    if why_unfit:
        return StageFinding(entry=entry, verdict="cannot say", trials=0, why=why_unfit)
    beyond = tuple(dict.fromkeys(one for trial in trials for one in _beyond(stage, trial)))
    other_files = tuple(
        name
        for name, sha256 in stage.outputs.items()
        if any(trial.outputs.get(name) != sha256 for trial in trials)
    )
    right = "right" if other_files else "identical"
    return StageFinding(
        entry=entry,
        verdict="wrong" if beyond else right,
        trials=len(trials),
        beyond=beyond,
        other_files=other_files,
        why=measured.why_not,
    )


def _beyond(stage: ExpectedStage, trial: MeasuredTrial) -> list[str]:
    """Say in a clause each what is wrong with the output of a trial."""
    at = f"at N = {trial.workers}"
    found = [] if trial.same else [f"its output {at} disagrees with the run's own baseline"]
    for how, sign, bounds in (("at least", 1, stage.at_least), ("at most", -1, stage.at_most)):
        for name, bound in bounds.items():
            value = trial.measures.get(name)
            # What is no number is within no bound.
            if value is None or not math.isfinite(value) or sign * value < sign * bound:
                is_ = "has no value" if value is None else f"is {value:.4g}"
                found.append(f"{name} {is_} {at}, expected {how} {bound:g}")
    return found

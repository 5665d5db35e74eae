"""The validation of a run: what it gave beside what its suite expects."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pyscale.planning.plan import Trial
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import read_provenance
from pyscale.store.records import TaskRecord
from pyscale.store.taskfiles import RecordError, read_task
from pyscale.validation.expected import (
    Expected,
    ExpectedMeasure,
    ExpectedStage,
    load_expected,
    other_work,
)
from pyscale.validation.findings import Measure, StageFinding, ValidationFindings, Verdict

OBJECTS = "objects"
"""Measure of how many cells, contacts or links an output holds."""


def validation_of(run: RunFolder) -> ValidationFindings | None:
    """Judge a run; None where its suite expects nothing."""
    suite = run.plan.suite
    if suite.expected is None:
        return None
    expected = load_expected(suite.expected)
    fed_by = {entry: tuple(step.inputs.values()) for entry, step in suite.stages.items()}
    return judged(expected, measured_of(run), fed_by, _why_unfit(run, expected))


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


_GAPS = frozenset(["not run", "cannot say"])


def judged(
    expected: Expected,
    measured: Mapping[str, MeasuredEntry],
    fed_by: Mapping[str, Sequence[str]],
    why_unfit: str = "",
) -> ValidationFindings:
    """Judge every entry, and the whole by them.

    An entry is wrong where a measure of any of its trials is off by more than its tolerance, was
    not measured or is no number, or where its own trials disagree. It is identical where every
    trial left the bytes of the reference.
    """
    stages: dict[str, StageFinding] = {}
    for entry, stage in expected.stages.items():
        found = _stage(entry, stage, measured.get(entry), why_unfit)
        # In the order of the pipeline, what feeds an entry is judged before it.
        after = tuple(
            source
            for source in fed_by.get(entry, ())
            if source in stages and stages[source].verdict == "wrong"
        )
        stages[entry] = found.model_copy(update={"after": after})
    return ValidationFindings(
        verdict=_whole([found.verdict for found in stages.values()]),
        why=why_unfit,
        reference=expected.reference,
        stages=tuple(stages.values()),
    )


def _whole(verdicts: Sequence[str]) -> Verdict:
    if "wrong" in verdicts:
        return "wrong"
    judged_at_all = {"identical", "within tolerance"}.intersection(verdicts)
    return "cannot say" if not judged_at_all or _GAPS.intersection(verdicts) else "right"


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
    measures = tuple(_measures(stage, trials))
    other_files = tuple(
        name
        for name, sha256 in stage.outputs.items()
        if any(trial.outputs.get(name) != sha256 for trial in trials)
    )
    disagreeing = tuple(sorted({trial.workers for trial in trials if not trial.same}))
    is_wrong = disagreeing or not all(measure.is_right for measure in measures)
    right = "within tolerance" if other_files else "identical"
    return StageFinding(
        entry=entry,
        verdict="wrong" if is_wrong else right,
        trials=len(trials),
        measures=measures,
        other_files=other_files,
        disagreeing=disagreeing,
        why=measured.why_not,
    )


def _measures(stage: ExpectedStage, trials: Sequence[MeasuredTrial]) -> Iterator[Measure]:
    """Every expected measure, of the trial where it is farthest from what is expected."""
    for name, expected in stage.measures.items():
        given = [(_number(trial.measures.get(name)), trial.workers) for trial in trials]
        value, workers = max(given, key=lambda one: _off(one[0], expected))
        yield Measure(
            name=name,
            workers=workers,
            value=value,
            expected=expected.value,
            tolerance=expected.tolerance,
            because=expected.because,
            is_right=_off(value, expected) <= expected.tolerance,
        )


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _off(value: float | None, expected: ExpectedMeasure) -> float:
    """How far a value is from the expected one; what is no number is near nothing."""
    return math.inf if value is None else abs(value - expected.value)

"""What a correct installation gives (config/validation), and whether a run gave it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, JsonValue, StringConstraints

from pyscale.errors import UserError, problems_told
from pyscale.planning.plan import Plan, Trial
from pyscale.resources import shipped
from pyscale.store.folder import RunFolder
from pyscale.store.provenance import read_provenance
from pyscale.store.records import TaskRecord
from pyscale.store.taskfiles import RecordError, read_task
from pyscale.tomlfile import told_by
from pyscale_stages.contract import Record

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


Bounds = dict[str, Annotated[float, Field(allow_inf_nan=False)]]
"""By what a stage's check measures against the truth, and `objects`."""


class ExpectedStage(Record):
    """What one entry of a suite gives."""

    params: dict[str, JsonValue] = Field(
        description="Its parameters; those that are not set, which TOML cannot say, are left out"
    )
    free: tuple[str, ...] = Field(
        (), description="Parameters that do not decide its output, and may have any value"
    )
    outputs: dict[str, Sha256] = Field(
        min_length=1, description="Checksum of each file in the reference installation"
    )
    at_least: Bounds = Field({}, description="Measures that may be no smaller")
    at_most: Bounds = Field({}, description="Measures that may be no larger")


class Installation(Record):
    """What results were made by."""

    machine: str = Field(description="Processor, cores and memory")
    system: str = Field(description="Operating system, C library and architecture")
    software: str = Field(description="Libraries and their versions")


class Expected(Record):
    """Results of the reference installation, with bounds for others."""

    reference: Installation = Field(description="The reference installation")
    dataset: str = Field(description="Name of the dataset in the registry")
    frames: int = Field(ge=1, description="Length of the movie")
    seed: int = Field(ge=0, description="Seed of every stage")
    inputs: dict[str, Sha256] = Field(min_length=1, description="Checksum of each file it reads")
    stages: dict[str, ExpectedStage] = Field(
        min_length=1, description="By entry of the suite, in the order of the pipeline"
    )


StageVerdict = Literal["identical", "right", "wrong", "cannot say", "not run", "left out"]
"""The bytes of the reference; other bytes whose measures are within their bounds; a measure that
is not; an output that cannot be judged; none, though asked for; none, because nobody asked."""
Verdict = Literal["right", "wrong", "cannot say"]


class StageFinding(Record):
    """Verdict on one entry of the suite, over all its trials."""

    entry: str
    verdict: StageVerdict
    trials: int = Field(description="Trials that were judged")
    beyond: tuple[str, ...] = Field((), description="What is wrong, with its numbers")
    other_files: tuple[str, ...] = Field(
        (), description="Output files whose bytes are not those of the reference"
    )
    why: str = Field("", description="Why a trial was not judged, in words")


class ValidationFindings(Record):
    """Whether an installation computes what it should."""

    verdict: Verdict
    why: str = Field("", description="Why nothing can be said of the whole, in words")
    reference: Installation = Field(description="What the expected results were made by")
    stages: tuple[StageFinding, ...]


def expected_file(name: str) -> Path:
    """File of the expected results that a suite names."""
    return shipped("config") / "validation" / f"{name}.toml"


def load_expected(name: str) -> Expected:
    """Read the expected results that a suite names."""
    path = expected_file(name)
    if not path.is_file():
        known = sorted(file.stem for file in path.parent.glob("*.toml"))
        raise UserError(
            f"unknown expected results {name!r} in the suite (`expected`): choose from "
            f"{', '.join(known)}"
        )
    return read_expected(path)


def read_expected(path: Path) -> Expected:
    """Read a file of expected results."""
    told = told_by("file of expected results", path)
    with problems_told(Expected, f"the expected results {path} are wrong: "):
        return Expected.model_validate(told)


def refuse_other_work(plan: Plan) -> None:
    """Raise where a suite with expected results would do other work than they come from."""
    if plan.suite.expected is None:
        return
    others = list(other_work(plan, load_expected(plan.suite.expected)))
    if others:
        raise UserError(
            f"the suite {plan.suite.name} needs fixed data and parameters, but {others[0]}: "
            "remove that from flags, pyscale.toml and environment, or run the suite pipeline"
        )


def other_work(plan: Plan, expected: Expected) -> Iterator[str]:
    """Name in a clause each thing that a plan does otherwise than what is expected was made by."""
    settings = plan.settings
    if settings["data"] != expected.dataset:
        yield f"the data is {settings['data']} instead of {expected.dataset}"
    if settings["seed"] != expected.seed:
        yield f"the seed is {settings['seed']} instead of {expected.seed}"
    if settings["scaling"] != "strong":
        yield f"scaling is {settings['scaling']}, so workers do not share the whole movie"
    for trial in plan.trials:
        stage = expected.stages.get(trial.entry)
        if trial.is_reference and stage is not None:
            yield from _other_params(trial, stage)


def _other_params(trial: Trial, stage: ExpectedStage) -> Iterator[str]:
    for name in sorted({*trial.params, *stage.params}.difference(stage.free)):
        given, fixed = trial.params.get(name), stage.params.get(name)
        if given != fixed:
            yield f"{name} of {trial.entry} is {_told(given)} instead of {_told(fixed)}"


def _told(value: JsonValue) -> str:
    return "not set" if value is None else str(value)


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

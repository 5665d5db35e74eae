"""Results of a correct installation (config/validation), what binds them, and what is found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from pyscale.errors import UserError, problems_told
from pyscale.planning.plan import Plan, Trial
from pyscale.resources import shipped
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

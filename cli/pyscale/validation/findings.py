"""Findings of a run about an installation, each verdict with its numbers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pyscale.validation.expected import Installation
from pyscale_stages.contract import Record

StageVerdict = Literal[
    "identical", "within tolerance", "wrong", "cannot say", "not run", "left out"
]
"""The bytes of the reference; other bytes whose measures are right; a measure that is not; an
output that cannot be judged; none, though asked for; none, because nobody asked for it."""
Verdict = Literal["right", "wrong", "cannot say"]


class Measure(Record):
    """One number of one stage beside the expected one."""

    name: str
    workers: int = Field(description="Number of workers at which it is farthest from the expected")
    value: float | None = Field(description="None where it was not measured, or is no number")
    expected: float
    tolerance: float
    because: str = Field(description="What the tolerance comes from")
    is_right: bool


class StageFinding(Record):
    """Verdict on one entry of the suite, over all its trials."""

    entry: str
    verdict: StageVerdict
    trials: int = Field(description="Trials that were judged")
    measures: tuple[Measure, ...] = ()
    other_files: tuple[str, ...] = Field(
        (), description="Output files whose bytes are not those of the reference"
    )
    disagreeing: tuple[int, ...] = Field(
        (), description="Numbers of workers whose output is not that of the run's own baseline"
    )
    after: tuple[str, ...] = Field(
        (), description="Entries with a wrong output that this one was fed from"
    )
    why: str = Field("", description="Why a trial was not judged, in words")


class ValidationFindings(Record):
    """Whether an installation computes what it should."""

    verdict: Verdict
    why: str = Field("", description="Why nothing can be said of the whole, in words")
    reference: Installation = Field(description="What the expected results were made by")
    stages: tuple[StageFinding, ...]

"""Findings of a run about an installation."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pyscale.validation.expected import Installation
from pyscale_stages.contract import Record

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

"""What a stage, or a command of a user's own, tells of its work: numbers, and warnings."""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import Field, ValidationError, model_validator

from pyscale_stages.record import Count, Finite, Record
from pyscale_stages.wording import first_problem

Over = Literal["sum", "mean", "most", "least"]
NAME = r"[a-z][a-z0-9_]*"
"""What a name in a line may be."""


class Measured(Record):
    """One number; windows of a trial that measure the same one are taken together."""

    name: str = Field(min_length=1, description="Name of the number")
    value: Finite = Field(description="The number")
    unit: str = Field("", description="Its unit; empty of a share or a plain number")
    better: Literal["higher", "lower"] | None = Field(
        None, description="Whether higher or lower is better; empty where neither is"
    )
    over: Over = Field(
        "sum", description="How the windows of a trial become one number: sum, mean, most or least"
    )
    means: str = Field("", description="What it is, for those who do not know the name")


def read_measured(text: str) -> Measured:
    """Read a line like `cells=1234 unit=cells better=higher`; a `ValueError` says what is wrong."""
    (name, equals, number), *more = [word.partition("=") for word in text.split()] or [("", "", "")]
    if not equals:
        raise ValueError("it is not name=number")
    if re.fullmatch(NAME, name) is None:
        raise ValueError(f"{name!r} is no name of small letters, digits and _")
    options = {option: told for option, _, told in more}
    try:
        return Measured.model_validate({**options, "name": name, "value": number})
    except ValidationError as error:
        raise ValueError(first_problem(error, Measured)) from None


UNSORTED = "other"
"""Code of a warning that names none."""


class Warned(Record):
    """A warning of one task. The counts of the windows of one trial add up.

    Where a judgement needs the whole, as that most cells touch, every window counts and the sum
    decides by `above`; a window with none of what is counted then warns too, of 0.
    """

    code: str = Field(UNSORTED, description="Short name of its kind, by which it is counted")
    text: str = Field(
        description="The sentence; where it counts, what follows `37 of 48 frames`",
    )
    concerned: Count | None = Field(None, description="How many it is about; None counts nothing")
    seen: Count = Field(0, description="Of how many")
    unit: str = Field("frames", description="What is counted")
    above: float = Field(0.0, ge=0, le=1, description="Share concerned from which on it is said")
    fewest: Count = Field(0, description="Of fewer seen nothing is said")
    doubts_result: bool = Field(False, description="Whether the result may be wrong for it")

    @model_validator(mode="after")
    def _counts_a_part(self) -> Self:
        if self.concerned is not None and self.concerned > self.seen:
            raise ValueError(f"{self.code} concerns {self.concerned} of {self.seen} {self.unit}")
        return self

    @property
    def is_said(self) -> bool:
        """Whether it concerns enough to be worth a sentence."""
        if self.concerned is None:
            return True
        return self.seen >= self.fewest and self.concerned > self.above * self.seen

    @property
    def sentence(self) -> str:
        """The whole sentence."""
        if self.concerned is None:
            return self.text
        return f"{self.concerned} of {self.seen} {self.unit} {self.text}"

    def __add__(self, other: Warned) -> Warned:
        """Both together, of one code, each of which counts."""
        concerned = (self.concerned or 0) + (other.concerned or 0)
        return self.model_copy(update={"concerned": concerned, "seen": self.seen + other.seen})

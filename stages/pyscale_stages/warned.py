"""A stage's warnings: a code to count by, a sentence, and how much of the work it concerns."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from pyscale_stages.record import Count, Record

UNSORTED = "other"
"""Code of a warning that names none, as those of records before there were codes."""


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


def _sorted(warning: Any) -> Any:
    # Earlier records hold plain sentences.
    return {"text": warning} if isinstance(warning, str) else warning


Warnings = tuple[Annotated[Warned, BeforeValidator(_sorted)], ...]

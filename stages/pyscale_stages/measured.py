"""Numbers that a stage, or a command of a user's own, measures of its work."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, ValidationError

from pyscale_stages.record import Finite, Record
from pyscale_stages.wording import did_you_mean, first_problem

Over = Literal["sum", "mean", "most", "least"]
NAME = r"[a-z][a-z0-9_]*"
"""What a name in a line may be."""
OPTIONS = ("unit", "better", "over")
"""What a line may say beside the name and the number."""


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
    try:
        value = float(number)
    except ValueError:
        raise ValueError(f"{number!r} is not a number") from None
    for option, _, _ in more:
        if option not in OPTIONS:
            raise ValueError(f"{option!r} is unknown ({did_you_mean(option, OPTIONS)})")
    options = {option: told for option, _, told in more}
    try:
        return Measured.model_validate({"name": name, "value": value, **options})
    except ValidationError as error:
        raise ValueError(first_problem(error, Measured)) from None

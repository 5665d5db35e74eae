"""The base of every record of the contract, and what a number means beyond its rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

OverRanks = Literal[
    "",
    "sum",
    "most",
    "least",
    "mean",
    "first",
    "names",
    "node",
    "apart",
    "rates",
    "slowest",
    "slowest each",
    "step",
]
"""How ranks become a trial; `pyscale.analysis.aggregate` has a sentence for each."""
OverTrials = Literal["", "median", "rate", "most", "max", "min", "first", "told", "names"]
"""How trials become a configuration."""

SHARES = (50, 95, 99)
"""Percentiles that times of many batches are told by."""


@dataclass(frozen=True)
class Metric:
    """How tables hold one field of a record."""

    name: str | None = None
    """Of its column, without the prefix of the record that holds it; None is the field's own.
    Columns of a record within the record begin with it, where it is not empty."""
    samples: Mapping[str, str] = field(default_factory=dict)
    """Of a list of numbers: columns, and what each tells of them: count, mean, max, or a percentile
    like p50."""
    ranks: OverRanks = ""
    trials: OverTrials = ""
    """How it becomes a number of a trial, and that one of a configuration; without them only the
    table of ranks has it."""


@dataclass(frozen=True)
class Derived:
    """A number of a trial that is made of columns of its ranks."""

    of: str
    """The column; of several with blanks between them the first that is known."""
    means: str
    ranks: OverRanks
    trials: OverTrials = "median"
    per: str = ""
    """Column that it is divided by; of several the first that is known."""
    interval: bool = False
    """Whether it has the ends of a 95 % interval over trials."""
    shown: str = ""
    """Head of its column in the report's table, with the unit there in brackets; empty where it is
    in the CSV alone."""


Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A length of time, by one clock; a difference of two clocks is a plain number."""
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""How much there is of something that cannot be less than nothing."""
AtLeastOne = Annotated[float, Field(ge=1, allow_inf_nan=False)]
"""Its bound stands here, as that of `Amount` would count in place of a field's own."""
Count = Annotated[int, Field(ge=0, lt=2**63)]
"""More than a column of a table can hold is damage."""
Whole = Annotated[int, Field(lt=2**63)]
"""A whole number whose lower bound its field names."""
Bytes = Count
Finite = Annotated[float, Field(allow_inf_nan=False)]
"""A measure of any sign. JSON has no word for others, so that they would be read as no value."""


class Record(BaseModel):
    """A frozen record that refuses unknown keys."""

    # Built at first use: a task uses few of the records, and importing them is measured time.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    derived: ClassVar[Mapping[str, Derived]] = {}
    """Numbers of a trial that are made of several columns of its ranks, or of one within."""


class Sample(Record):
    """A record that a stage declares for what it measures; a result holds it by its name."""

    kept_as: ClassVar[str]
    """Its name in a result."""

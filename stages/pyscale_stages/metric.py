"""What a number of a record means beyond its rank: the marker beside a field's type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

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

"""What is found of any work that ranks do together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import polars as pl

Row = dict[str, Any]


@dataclass(frozen=True)
class RankFindings:
    """Findings of one kind of work.

    Attributes
    ----------
    points : polars.DataFrame
        One row a configuration: an entry of the suite at one N.
    """

    kind: ClassVar[str]
    """Section of the report, and class of its verdicts."""
    work: ClassVar[Literal["own", "shared"]]
    """Whether N ranks do N times as much, so that wall times have no speedup, or share it."""

    points: pl.DataFrame

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Tables by their keys in `pyscale.report.csv`."""
        raise NotImplementedError

    @property
    def entries(self) -> frozenset[str]:
        """Entries of the suite whose ranks did this work."""
        return frozenset(self.points["stage"])

"""What is found of any kind of work beside stages over N: one shape for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from pyscale_stages.contract import Work

Row = dict[str, Any]


@dataclass(frozen=True)
class Findings:
    """Findings of one kind of work."""

    kind: ClassVar[str]
    """Section of the report, and class of its verdicts."""
    work: ClassVar[Work]

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Tables by their keys in `pyscale.report.csv`."""
        raise NotImplementedError

    @property
    def entries(self) -> frozenset[str]:
        """Entries of the suite that did this work."""
        raise NotImplementedError


@dataclass(frozen=True)
class PointFindings(Findings):
    """Findings that have a row for each entry at each N."""

    points: pl.DataFrame

    @property
    def entries(self) -> frozenset[str]:
        """Entries of the suite that did this work."""
        return frozenset(self.points["stage"])

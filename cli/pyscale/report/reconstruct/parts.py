"""Components of every reconstruction at every N, found by their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyscale.report.ofranks import Row
from pyscale.report.reconstruct.words import TOTAL, names_of

if TYPE_CHECKING:
    from pyscale.analysis.reconstruct.findings import ReconstructFindings


@dataclass(frozen=True)
class Parts:
    """Findings, with lookups for tables and sentences.

    Attributes
    ----------
    points : list of dict
        A row an entry at one N.
    names : mapping of str to str
        Of entries.
    """

    points: list[Row]
    names: Mapping[str, str]
    _components: Mapping[tuple[str, int, str], Row]

    @classmethod
    def of(cls, findings: ReconstructFindings) -> Parts:
        """Lay the findings out for looking up."""
        points = findings.points.to_dicts()
        components = {
            (row["stage"], row["workers"], row["component"]): row
            for row in findings.scaling.to_dicts()
        }
        return cls(points, names_of(points), components)

    @property
    def timed(self) -> list[Row]:
        """Points of which a trial counts."""
        return [row for row in self.points if row["wall_s"] is not None]

    def at(self, stage: str, workers: int) -> Row:
        """The point of an entry at one N."""
        found = (row for row in self.points if (row["stage"], row["workers"]) == (stage, workers))
        return next(found)

    def component(self, row: Row, name: str = TOTAL) -> Row:
        """One component of a point; without a name the whole iteration."""
        return self._components[row["stage"], row["workers"], name]

    def own(self, stage: str) -> list[Row]:
        """Points of one entry, those without a trial that counts too."""
        return [row for row in self.points if row["stage"] == stage]

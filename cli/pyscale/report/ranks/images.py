"""Reconstructed images and the components of their iterations: names, and rows by their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyscale.analysis.ranks.components import OBJECTIVE, TOTAL
from pyscale.analysis.ranks.reconstruct import ReconstructFindings
from pyscale.report.page.values import Row
from pyscale.report.wording import number, titled

PROBLEMS = {
    "colour_deblur": "colour deblurring",
    "tomography_2d": "tomography in 2D",
    "tomography_3d": "tomography in 3D",
}
NAMES = {
    TOTAL: "iteration",
    "gradient": "gradient",
    "denoiser": "denoiser",
    "communication": "exchange of the gradient",
    "gather": "gathering of tiles",
    "barrier": "waiting for other ranks",
    OBJECTIVE: "objective",
}
"""Every component as sentences, tables, legends and the tips of charts call it."""
MILLI = 1e-3


@dataclass(frozen=True)
class Images:
    """Findings, with lookups for tables and sentences."""

    points: list[Row]
    """A row an entry at one N."""
    names: Mapping[str, str]
    """Of entries."""
    _components: Mapping[tuple[str, int, str], Row]

    @classmethod
    def of(cls, findings: ReconstructFindings) -> Images:
        """Lay the findings out for looking up."""
        points = findings.points.to_dicts()
        names = {row["stage"]: _name(row) for row in points}
        told = list(names.values())
        return cls(
            points,
            {
                stage: name if told.count(name) == 1 else f"{name} ({stage})"
                for stage, name in names.items()
            },
            {
                (row["stage"], row["workers"], row["component"]): row
                for row in findings.scaling.to_dicts()
            },
        )

    @property
    def timed(self) -> list[Row]:
        """Points of which a trial counts."""
        return [row for row in self.points if row["wall_s"] is not None]

    def at(self, component: Row) -> Row:
        """The point that a component is of."""
        own = self.own(component["stage"])
        return next(row for row in own if row["workers"] == component["workers"])

    def component(self, row: Row, name: str = TOTAL) -> Row:
        """One component of the entry and N of a row; without a name the whole iteration."""
        return self._components[row["stage"], row["workers"], name]

    def own(self, stage: str) -> list[Row]:
        """Points of one entry, those without a trial that counts too."""
        return [row for row in self.points if row["stage"] == stage]


def problem(name: str | None) -> str:
    """Name a problem in words, with a capital."""
    return titled(PROBLEMS.get(name or "", name or "reconstruction"))


def _name(row: Row) -> str:
    size = "" if row["size_px"] is None else f", {row['size_px']} px"
    return f"{problem(row['problem'])}{size}"


def milliseconds(value: float | None) -> str:
    """Write a time in milliseconds, the unit of all times of an iteration."""
    return number(None if value is None else value / MILLI)

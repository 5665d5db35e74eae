"""The scaling curves of a table of configurations, each with a name that tells it apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from pyscale.analysis.losses import GROUP, OfCurve, in_curve


@dataclass(frozen=True)
class Curve:
    """One stage on one kind of device, by rising worker count."""

    name: str
    rows: list[dict[str, Any]]
    """Rows of the table of configurations."""
    key: dict[str, Any]
    """Values of the columns that every table of the report has in common."""

    @property
    def timed(self) -> list[dict[str, Any]]:
        """Configurations of which at least one trial was timed."""
        return [row for row in self.rows if row["wall_s"] is not None]

    @property
    def base(self) -> dict[str, Any] | None:
        """The baseline: None where no trial was timed."""
        return self.timed[0] if self.timed else None

    def owns(self, found: OfCurve) -> bool:
        """Whether something that was found in one curve was found in this."""
        # Few are of this stage, so most are told apart without their other columns.
        return found.stage == self.key["stage"] and found.curve == self.key

    def select(self, table: pl.DataFrame) -> pl.DataFrame:
        """Rows of another table that belong to this curve."""
        return table.filter(in_curve(self.key))


def curves(configurations: pl.DataFrame) -> list[Curve]:
    """Split the table into curves, in its order.

    A curve is named by its stage, and by its device and suite only where the stage alone
    would name two curves.
    """
    groups = [
        (dict(zip(GROUP, key, strict=True)), group.to_dicts())
        for key, group in configurations.group_by(GROUP, maintain_order=True)
    ]
    found = []
    for key, rows in groups:
        namesakes = [other for other, _ in groups if other["stage"] == key["stage"]]
        details = ", ".join(
            str(key[column])
            for column in ("suite", "device")
            if len({other[column] for other in namesakes}) > 1
        )
        name = f"{key['stage']} ({details})" if details else str(key["stage"])
        found.append(Curve(name, rows, key))
    return found


def timed_curves(configurations: pl.DataFrame) -> list[Curve]:
    """Curves of which a trial was timed."""
    return [curve for curve in curves(configurations) if curve.timed]

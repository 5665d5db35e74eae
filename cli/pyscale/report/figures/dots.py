"""Colours and marks of series, and panels below each other."""

# Most of plotnine's constructors have no annotations.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyscale.report import palette
from pyscale.report.figures.house import Sheet

Row = dict[str, Any]
MARKS = ("o", "s", "^", "D", "P", "v", "X")
"""Of series, with the colours of `palette.CURVES`."""


@dataclass(frozen=True)
class Below(Sheet):
    """Panels below each other, each as wide as the sheet: names beside them need room."""

    @property
    def columns(self) -> int:
        """Panels beside each other."""
        return 1


@dataclass(frozen=True)
class Looks:
    """Colour and mark of each value of a column, the same in every figure of it."""

    column: str
    names: list[str]
    colours: list[str]
    marks: list[str]

    @classmethod
    def of(cls, rows: Sequence[Row], column: str, known: Sequence[str]) -> Looks:
        """Take the values that occur, with the looks that each has among all."""
        looks = {
            name: (
                palette.CURVES[place % len(palette.CURVES)],
                MARKS[(place + place // len(palette.CURVES)) % len(MARKS)],
            )
            for place, name in enumerate(known)
        }
        names = [name for name in known if any(row[column] == name for row in rows)]
        return cls(
            column, names, [looks[name][0] for name in names], [looks[name][1] for name in names]
        )

    def scales(self, sheet: Sheet, *, is_named: bool = False) -> list[Any]:
        """Scales of colours and marks, with their legend where there are several or `is_named`."""
        from plotnine import guide_legend, scale_color_manual, scale_shape_manual

        def guide() -> Any:
            # One a scale: a shared one would lose what it was given first.
            if len(self.names) < 2 and not is_named:
                return None
            return guide_legend(ncol=sheet.legend_columns(self.names), byrow=True)

        return [
            scale_color_manual(self.colours, limits=self.names, guide=guide()),
            scale_shape_manual(self.marks, limits=self.names, guide=guide()),
        ]

    @property
    def legend(self) -> list[str]:
        """Entries that need room."""
        return self.names if len(self.names) > 1 else []

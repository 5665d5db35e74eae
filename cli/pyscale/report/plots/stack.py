"""Stacked bars of parts, in words that the page and print both draw from."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from pyscale.report.plots.plot import Row
from pyscale.report.wording import listing
from pyscale_stages.contract import Record


class Amount(Record):
    """What the height of a part is."""

    column: str = Field(description="Of the rows")
    title: str = Field(description="What it is, with its unit")
    level: str | None = Field(
        None, description="Column that says where a line lies across a whole bar"
    )


class Stack(Record):
    """A part of a bar for each row, a panel for each value of `panel`."""

    id: str = Field(description="What the page calls it")
    title: str = Field(description="What it shows")
    dataset: str = Field(description="What the page calls its rows")
    rows: list[Row] = Field(
        description="Numbers that are drawn, and texts that are told of them: `part`, its `order` "
        "from the axis, its `share`, and that as text in `shared`"
    )
    panel: str = Field("curve", description="Column that names the panel of a row")
    headings: dict[str, list[str]] = Field(
        {}, description="Lines above a panel in print, by the name of the panel"
    )
    along: str = Field(description="Column that names the bar of a row, by a number")
    along_title: str = Field(description="What it is, with its unit")
    at: str = Field("{}", description="How a bar is named in a sentence")
    absolute: Amount = Field(description="What the page shows first")
    relative: Amount = Field(description="What it shows of whole bars that are equal")
    prints: Literal["absolute", "relative"] = Field(description="What print shows")
    parts: dict[str, str] = Field(
        description="Every part, in the order in which bars stack them, and the name of its colour"
    )
    seen: dict[str, str] = Field(
        description="Columns told of a part that is pointed at, and what they are"
    )
    sentences: list[str] = Field(description="How to read it")
    absent: str = Field(description="What there is no figure of without rows, and what it needs")
    printed: list[str] = Field([], description="More sentences of the caption in print")
    crossed: str | None = Field(None, description="Column that says which bars have a cross")

    @property
    def panels(self) -> list[str]:
        """Names of the panels, in order."""
        return list(dict.fromkeys(row[self.panel] for row in self.rows))

    @property
    def bars(self) -> list[Any]:
        """Names of the bars, from the smallest number."""
        return sorted({row[self.along] for row in self.rows}, key=float)

    @property
    def names(self) -> dict[str, str]:
        """Parts that occur, and their colours."""
        seen = {row["part"] for row in self.rows}
        return {name: colour for name, colour in self.parts.items() if name in seen}

    @property
    def told(self) -> str:
        """The largest parts of the last bar of each panel."""
        told = []
        for name in self.panels:
            own = [row for row in self.rows if row[self.panel] == name]
            last = max((row[self.along] for row in own), key=float)
            parts = sorted(
                (row for row in own if row[self.along] == last), key=lambda row: -row["share"]
            )
            largest = listing(f"{row['part']} {row['shared']}" for row in parts[:3])
            told.append(f"{name} at {self.at.format(last)}: {largest}.")
        return " ".join(told)

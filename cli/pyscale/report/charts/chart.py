"""A chart of the page."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from pyscale_stages.contract import Record


class Chart(Record):
    """One chart, or one in several panels, as charts.js draws it."""

    id: str = Field(description="What the page calls it")
    title: str = Field(description="What it shows, as its caption")
    description: str = Field(description="What can be seen in it, for those who do not see it")
    spec: dict[str, Any] = Field(
        description="Vega-Lite; its data are names of datasets, and `usermeta` holds `note` (how "
        "to read it), `titles` (what it shows, absolute and relative), `panels` (curves, where "
        "each has a panel of its own), `legend` (name, colour and mark of each part) and `wide` "
        "(whether panels lie below each other)"
    )

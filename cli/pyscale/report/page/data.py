"""What the scripts of a page read: charts, their data, and the viewer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyscale.report.charts.chart import Chart
from pyscale.report.viewer.model import Viewer


def page_data(
    charts: Sequence[Chart], datasets: dict[str, list[dict[str, Any]]], viewer: Viewer
) -> dict[str, Any]:
    """Collect what charts.js and viewer.js read on any page."""
    return {
        "charts": {chart.id: chart.model_dump(mode="json", exclude={"id"}) for chart in charts},
        "datasets": datasets,
        "viewer": viewer.model_dump(mode="json", exclude_none=True),
    }

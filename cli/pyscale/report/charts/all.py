"""All charts of a report, and the datasets that they draw."""

from __future__ import annotations

from collections.abc import Iterable

from altair.utils.schemapi import debug_mode

from pyscale.report.charts.chart import Chart, Row
from pyscale.report.charts.kinds import of_kinds
from pyscale.report.charts.overworkers import over_workers
from pyscale.report.charts.timeline import timeline
from pyscale.report.palette import colour_rows
from pyscale.report.results import Results


def charts(results: Results) -> list[Chart]:
    """Every chart that has something to show; their data are names of `datasets`."""
    # It would check every part of every chart against its schema, for seconds.
    with debug_mode(False):
        drawn = (*over_workers(results), *of_kinds(results), timeline(results.about_workers()))
    return [chart for chart in drawn if chart is not None]


def datasets(drawn: Iterable[Chart]) -> dict[str, list[Row]]:
    """Rows of every dataset that charts name, and the colours of the themes."""
    apart = {name: rows for chart in drawn for name, rows in chart.data.items() if rows}
    return {"colours": colour_rows(), **apart}

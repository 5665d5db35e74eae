"""All charts of a report, and the datasets that they draw."""

from __future__ import annotations

from altair.utils.schemapi import debug_mode

from pyscale.report.charts.chart import Chart, stack_chart
from pyscale.report.charts.draw import chart_of
from pyscale.report.charts.timeline import timeline
from pyscale.report.palette import colour_rows
from pyscale.report.plots.all import plots
from pyscale.report.plots.plot import Plot, Row
from pyscale.report.plots.timeline import timeline_rows
from pyscale.report.results import Results


def charts(results: Results) -> list[Chart]:
    """Every chart that has something to show; their data are names of `datasets`."""
    # It would check every part of every chart against its schema, for seconds.
    with debug_mode(False):
        drawn = [
            chart_of(one) if isinstance(one, Plot) else stack_chart(one) for one in plots(results)
        ]
        over_time = timeline(results.about_workers())
    return [*drawn, *([over_time] if over_time else [])]


def datasets(results: Results) -> dict[str, list[Row]]:
    """Rows of every dataset that charts name, and the colours of the themes."""
    declared = plots(results)
    beside = [one for plot in declared if isinstance(plot, Plot) for one in plot.beside]
    apart = {one.dataset: one.rows for one in (*declared, *beside)}
    apart["timeline"] = timeline_rows(results.about_workers())
    return {"colours": colour_rows()} | {name: rows for name, rows in apart.items() if rows}

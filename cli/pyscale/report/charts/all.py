"""All charts of a report, and the datasets that they draw."""

from __future__ import annotations

from typing import Any

from pyscale.report.charts.cache import cache
from pyscale.report.charts.chart import Chart
from pyscale.report.charts.curvecharts import cost, memory, speedup, throughput, walltime
from pyscale.report.charts.draw import chart_of
from pyscale.report.charts.drawstack import stack_chart
from pyscale.report.charts.look import colour_rows
from pyscale.report.charts.points import CONFIGURATIONS, IDEAL, LAWS, REFERENCES, TRIALS
from pyscale.report.charts.rows import (
    configuration_rows,
    ideal_rows,
    law_rows,
    reference_rows,
    trial_rows,
)
from pyscale.report.charts.timeline import TIMELINE, timeline, timeline_rows
from pyscale.report.curves import Curve, curves
from pyscale.report.grid.scope import about_workers
from pyscale.report.plots.all import plots, stacks
from pyscale.report.plots.reconstructplots import component_shares
from pyscale.report.plots.stacks import call_parts, losses
from pyscale.report.results import Results

Row = dict[str, Any]


def charts(results: Results) -> list[Chart]:
    """Every chart that has something to show, in the order of the page.

    Their data are names of `datasets`.
    """
    from altair.utils.schemapi import debug_mode

    about = about_workers(results)
    found = _curves(about)
    # Altair would check every part of every chart against its schema, for seconds.
    with debug_mode(False):
        drawn = [
            stack_chart(call_parts(results)),
            *(_drawn(found, about) if found else []),
            *map(chart_of, plots(results)),
            stack_chart(component_shares(results)),
        ]
    return [chart for chart in drawn if chart is not None]


def _drawn(found: list[Curve], results: Results) -> list[Chart | None]:
    rows = configuration_rows(found)
    laid, laws = results.timeline, law_rows(found, results.fits)
    return [
        speedup(found, rows, reference_rows(found, results.references), laws),
        walltime(found, rows, laws),
        stack_chart(losses(results)),
        None if laid is None else timeline(found, laid, results.trials),
        throughput(found, rows),
        memory(found, rows),
        cost(found, rows),
        cache(found, trial_rows(found, results.trials)),
    ]


def datasets(results: Results) -> dict[str, list[Row]]:
    """Rows of every dataset that charts name, and the colours of the themes."""
    apart = {plot.dataset: plot.rows for plot in plots(results) if plot.rows}
    beside = [one for plot in plots(results) for one in (plot.others, plot.ends) if one]
    apart |= {one.dataset: one.rows for one in beside}
    apart |= {stack.dataset: stack.rows for stack in stacks(results) if stack.rows}
    results = about_workers(results)
    found = _curves(results)
    laid = results.timeline
    if laws := law_rows(found, results.fits):
        apart[LAWS] = laws
    return {
        "colours": colour_rows(),
        CONFIGURATIONS: configuration_rows(found),
        IDEAL: ideal_rows(found),
        TRIALS: trial_rows(found, results.trials),
        REFERENCES: reference_rows(found, results.references),
        TIMELINE: [] if laid is None else timeline_rows(found, laid, results.trials),
        **apart,
    }


def _curves(results: Results) -> list[Curve]:
    return [curve for curve in curves(results.configurations) if curve.timed]

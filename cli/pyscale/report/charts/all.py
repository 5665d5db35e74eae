"""All charts of a report, and the datasets that they draw."""

from __future__ import annotations

from typing import Any

from pyscale.report.charts.cache import cache
from pyscale.report.charts.chart import Chart
from pyscale.report.charts.curvecharts import cost, memory, speedup, throughput, walltime
from pyscale.report.charts.look import colour_rows
from pyscale.report.charts.losses import LOSSES, losses
from pyscale.report.charts.points import CONFIGURATIONS, IDEAL, REFERENCES, TRIALS
from pyscale.report.charts.rows import (
    configuration_rows,
    ideal_rows,
    loss_rows,
    reference_rows,
    trial_rows,
)
from pyscale.report.charts.timeline import TIMELINE, timeline, timeline_rows
from pyscale.report.curves import Curve, curves
from pyscale.report.results import Results

Row = dict[str, Any]


def charts(results: Results) -> list[Chart]:
    """Every chart that has something to show, in the order of the page.

    Their data are names of `datasets`.
    """
    from altair.utils.schemapi import debug_mode

    found = _curves(results)
    if not found:
        return []
    # Altair would check every part of every chart against its schema, for seconds.
    with debug_mode(False):
        drawn = _drawn(found, results)
    return [chart for chart in drawn if chart is not None]


def _drawn(found: list[Curve], results: Results) -> list[Chart | None]:
    rows = configuration_rows(found)
    laid = results.timeline
    return [
        speedup(found, rows, reference_rows(found, results.references)),
        walltime(found, rows),
        losses(loss_rows(found, results.losses)),
        None if laid is None else timeline(found, laid, results.trials),
        throughput(found, rows),
        memory(found, rows),
        cost(found, rows),
        cache(found, trial_rows(found, results.trials)),
    ]


def datasets(results: Results) -> dict[str, list[Row]]:
    """Rows of every dataset that charts name, and the colours of the themes."""
    found = _curves(results)
    laid = results.timeline
    return {
        "colours": colour_rows(),
        CONFIGURATIONS: configuration_rows(found),
        IDEAL: ideal_rows(found),
        LOSSES: loss_rows(found, results.losses),
        TRIALS: trial_rows(found, results.trials),
        REFERENCES: reference_rows(found, results.references),
        TIMELINE: [] if laid is None else timeline_rows(found, laid, results.trials),
    }


def _curves(results: Results) -> list[Curve]:
    return [curve for curve in curves(results.configurations) if curve.timed]

"""The page and the table of several runs."""

from __future__ import annotations

from pathlib import Path

from pyscale.report.charts.look import colour_rows
from pyscale.report.page.shell import page_data, rendered
from pyscale.report.viewer.chart import DATASET, bars
from pyscale.report.viewer.machines import machine_viewer
from pyscale.report.viewer.several import (
    Several,
    compared_runs,
    machines_told,
    verdict_lines,
    what_differs,
)
from pyscale.report.viewer.stages import viewer
from pyscale.report.viewer.table import comparison_table
from pyscale_stages.atomic import write_atomically

NAME = "comparison.html"
FIRST_SCREEN = 8
"""Differences that the first screen has room for."""


def write_comparison(folder: Path, several: Several) -> Path:
    """Write the page of several runs, and its tables; each appears whole or not at all."""
    shown = viewer(several.found)
    tests = several.machines and machine_viewer(several.machines)
    chart, rows = bars(shown)
    charts = [chart] if rows else []
    data = page_data(charts, {DATASET: rows, "colours": colour_rows()}, shown) | {"tables": {}}
    for found, viewed in ((several.found, shown), (several.machines, tests)):
        if found and viewed:
            table = comparison_table(found, viewed.layout).write_csv()
            data |= {viewed.layout.id: viewed.data}
            data["tables"][viewed.layout.id] = table
            write_atomically(folder / f"{viewed.layout.file}.csv", table)
    runs = compared_runs(several)
    text = rendered(
        "page/comparison.html.j2",
        data,
        charts={chart.id: chart for chart in charts},
        viewer=shown,
        runs=runs,
        lines=verdict_lines(runs),
        stages=list(dict.fromkeys(row.curve for row in shown.rows if row.curve)),
        differing=several.differing,
        first_screen=FIRST_SCREEN,
        what_differs=what_differs(several),
        machines=tests,
        machines_told=machines_told(several),
    )
    write_atomically(folder / NAME, text)
    return folder / NAME

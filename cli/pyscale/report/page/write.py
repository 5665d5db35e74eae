"""The page of one report."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from altair.utils.schemapi import debug_mode

from pyscale.report.charts.chart import Chart, Row
from pyscale.report.charts.kinds import of_kinds
from pyscale.report.charts.overworkers import over_workers
from pyscale.report.csv import csv_texts
from pyscale.report.kinds import sections
from pyscale.report.page.shell import page_data, rendered
from pyscale.report.palette import colour_rows
from pyscale.report.results import Results
from pyscale.report.viewer.build import comparison_table, machine_viewer, stage_viewer
from pyscale.report.viewer.sources import beside_references, machines_beside_references
from pyscale.report.write import PAGE_NAME
from pyscale_stages.atomic import write_atomically


def write_page(folder: Path, results: Results) -> Path:
    """Write the page; it appears whole or not at all, and needs no other file and no network."""
    drawn = charts(results)
    compared = stage_viewer(beside_references(results.about_workers()))
    beside = machines_beside_references(results)
    machines = machine_viewer(beside) if beside else None
    tables = csv_texts(results)
    data = {**page_data(drawn, datasets(drawn), compared), "tables": tables}
    if beside and machines:
        data["machines"] = machines.data
        tables["machines"] = comparison_table(beside, machines.layout).write_csv()
    text = rendered(
        "page/report.html.j2",
        data,
        charts={chart.id: chart for chart in drawn},
        viewer=compared,
        machines=machines,
        **sections(results),
    )
    write_atomically(folder / PAGE_NAME, text)
    return folder / PAGE_NAME


def charts(results: Results) -> list[Chart]:
    """Every chart that has something to show; their data are names of `datasets`."""
    # It would check every part of every chart against its schema, for seconds.
    with debug_mode(False):
        drawn = (*over_workers(results), *of_kinds(results))
    return [chart for chart in drawn if chart is not None]


def datasets(drawn: Iterable[Chart]) -> dict[str, list[Row]]:
    """Rows of every dataset that charts name, and the colours of the themes."""
    apart = {name: rows for chart in drawn for name, rows in chart.data.items() if rows}
    return {"colours": colour_rows(), **apart}

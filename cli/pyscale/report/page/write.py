"""The page of one report."""

from __future__ import annotations

from pathlib import Path

from pyscale.report.charts.all import charts, datasets
from pyscale.report.csv import csv_texts
from pyscale.report.page.sections import sections
from pyscale.report.page.shell import page_data, rendered
from pyscale.report.results import Results
from pyscale.report.viewer.build import comparison_table
from pyscale.report.viewer.machines import machine_viewer
from pyscale.report.viewer.sources import beside_references, machines_beside_references
from pyscale.report.viewer.stages import viewer
from pyscale.report.write import PAGE_NAME
from pyscale_stages.atomic import write_atomically


def write_page(folder: Path, results: Results) -> Path:
    """Write the page; it appears whole or not at all, and needs no other file and no network."""
    drawn = charts(results)
    compared = viewer(beside_references(results.about_workers()))
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

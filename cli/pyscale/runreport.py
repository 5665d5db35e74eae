"""Everything that is made of a run's records: tables, manifest, report and RO-Crate."""

from __future__ import annotations

from pathlib import Path

from pyscale.report.results import Results
from pyscale.report.write import write_report
from pyscale.results import results_of
from pyscale.store.crate import write_crate
from pyscale.store.folder import RunFolder


def report_run(
    run: RunFolder,
    folder: Path | None = None,
    *,
    count_retried: bool = False,
    every_figure: bool = False,
) -> Results:
    """Write the report of a run, and describe the run's folder as it is then.

    Parameters
    ----------
    run : RunFolder
        At its end or not.
    folder : Path or None
        For the report; None is its place in the run.
    count_retried : bool
        Whether trials that succeeded only when tried again are timed too.
    every_figure : bool
        Whether to draw all figures for print.
    """
    results = results_of(run, count_retried=count_retried)
    write_report(folder or run.report, results, every_figure=every_figure)
    write_crate(run)
    return results

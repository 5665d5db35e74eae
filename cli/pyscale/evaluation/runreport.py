"""Everything that is made of a run's records: tables, manifest, report and RO-Crate."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pyscale.console import talk
from pyscale.evaluation.results import USUAL, ReportOptions, results_of
from pyscale.evaluation.runpictures import pictures_of
from pyscale.report.results import Results
from pyscale.report.write import write_report, writing_into
from pyscale.store.crate import write_crate
from pyscale.store.folder import RunFolder


def report_run(
    run: RunFolder,
    folder: Path | None = None,
    options: ReportOptions = USUAL,
    *,
    tell: Callable[[str], object] = talk,
) -> Results:
    """Write the report of a run, at its end or not, and describe the run's folder as it is then."""
    home = tables_folder(run, folder)
    results = results_of(run, home, options, tell=tell)
    results = replace(results, pictures=pictures_of(run, tell))
    write_report(folder or run.report, results)
    if home == run.path:
        with writing_into(home):
            write_crate(run)
    return results


def tables_folder(run: RunFolder, report: Path | None) -> Path:
    """Folder that the tables of a run are written to, where its report goes into `report`."""
    if report is None or os.access(run.path, os.W_OK):
        return run.path
    return report

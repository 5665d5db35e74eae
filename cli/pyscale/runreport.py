"""Everything that is made of a run's records: tables, manifest, report and RO-Crate."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

from pyscale.console import talk
from pyscale.report.figures.house import Width
from pyscale.report.results import Results
from pyscale.report.write import write_report, writing_into
from pyscale.results import results_of
from pyscale.runpictures import pictures_of
from pyscale.store.crate import write_crate
from pyscale.store.folder import RunFolder


def report_run(
    run: RunFolder,
    folder: Path | None = None,
    *,
    count_retried: bool = False,
    every_figure: bool = False,
    width_mm: Width = 180,
    own_references: bool = True,
    asked_references: Collection[str] = (),
    pictures: bool = True,
    tell: Callable[[str], object] = talk,
) -> Results:
    """Write the report of a run, and describe the run's folder as it is then.

    Of a run that may only be read, as a colleague's, tables and manifest are put beside the
    report, and the run keeps the description that it has.

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
    width_mm : {88, 180}
        Their width: one column of a journal, or two.
    own_references, asked_references, tell
        As in `results_of`.
    pictures : bool
        Whether the page may show what is on the movie.

    Raises
    ------
    UserError
        If the run does not tell what it was made from, or a folder cannot be written into.
    """
    home = tables_folder(run, folder)
    results = results_of(
        run,
        home,
        count_retried=count_retried,
        own_references=own_references,
        asked_references=asked_references,
        tell=tell,
    )
    if pictures:
        results = replace(results, pictures=pictures_of(run, tell))
    write_report(folder or run.report, results, every_figure=every_figure, width_mm=width_mm)
    if home == run.path:
        with writing_into(home):
            write_crate(run)
    return results


def tables_folder(run: RunFolder, report: Path | None) -> Path:
    """Folder that the tables of a run are written to, where its report goes into `report`."""
    if report is None or os.access(run.path, os.W_OK):
        return run.path
    return report

"""`pyscale report`: reports of runs, and of tables measured elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.console import answer, talk
from pyscale.report.context import ReportContext
from pyscale.report.table import read_wall_times
from pyscale.report.terminal import summary
from pyscale.results import Results, analysed, report_results, results_of
from pyscale.settings import load_settings
from pyscale.store.folder import find_run
from pyscale.store.lock import is_locked


def report_runs(
    names: Sequence[str | None], out: Path | None, *, count_retried: bool = False
) -> None:
    """Write the report of each run, and print its table.

    Parameters
    ----------
    names : sequence of str or None
        Run ids or folders; None is the latest run.
    out : Path or None
        Folder for the report, with one folder a run if there are several; None puts each
        into its run.
    count_retried : bool
        Whether trials that succeeded only when tried again are timed too.
    """
    runs_folder = load_settings().runs_folder
    for run in [find_run(runs_folder, name) for name in names]:
        if is_locked(run.path):
            talk(
                f"the run {run.path.name} is not at its end: this is what it has so far, and a "
                "trial under way is told as one that did not finish"
            )
        folder = run.report
        if out is not None:
            folder = out / run.path.name if len(names) > 1 else out
        _report(folder, results_of(run, count_retried=count_retried))


def report_table(table: Path, out: Path | None) -> None:
    """Write the report of a table of wall times, and print it."""
    trials = trials_from_wall_times(read_wall_times(table), suite=table.stem)
    context = ReportContext(title=f"wall times of {table.name}")
    _report(out or Path(f"{table.stem}-report"), analysed(trials, context, interleaved=False))


def _report(folder: Path, results: Results) -> None:
    report_results(folder, results)
    answer(summary(results.configurations))
    talk(f"report: {folder}")

"""`pyscale report`: reports of runs, and of tables measured elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.console import answer, talk
from pyscale.report.context import ReportContext
from pyscale.report.gate import not_to_be_trusted
from pyscale.report.results import Results
from pyscale.report.table import read_wall_times
from pyscale.report.terminal import summary
from pyscale.report.write import write_report
from pyscale.results import analysed, results_of
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
    wall_times = read_wall_times(table)
    trials = trials_from_wall_times(wall_times, suite=table.stem)
    context = ReportContext(title=f"wall times of {table.name}", measured_for=table.name)
    results = analysed(
        trials,
        context,
        interleaved=False,
        # A trial in one row is one job, which holds everything until it ends.
        held="task" if "task" in wall_times.columns else "machine",
        prices=load_settings().prices,
    )
    _report(out or Path(f"{table.stem}-report"), results)


def _report(folder: Path, results: Results) -> None:
    write_report(folder, results)
    answer(summary(results.configurations))
    for sentence in not_to_be_trusted(results.configurations):
        talk(sentence)
    talk(f"report: {folder}")

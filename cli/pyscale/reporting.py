"""`pyscale report`: reports of runs, and of tables measured elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pyscale.analysis.grid.findings import grid_findings_of_table
from pyscale.analysis.grid.tablepoints import trials_of_sizes
from pyscale.analysis.walltimes import is_interleaved
from pyscale.archive.archive import archive
from pyscale.archive.fields import REMAINS
from pyscale.console import answer, talk
from pyscale.errors import UserError, why_no_name
from pyscale.references.files import all_references, refuse_unknown
from pyscale.references.matching import shown_beside
from pyscale.references.model import Loaded
from pyscale.report.page.write import NAME as PAGE_NAME
from pyscale.report.quality import missed
from pyscale.report.results import Results
from pyscale.report.sentences import not_to_be_trusted
from pyscale.report.table import has_sizes, read_sizes
from pyscale.report.terminal import summary_of
from pyscale.report.write import write_report, writing_into
from pyscale.results import USUAL, ReportOptions, analysed, context_of_table, results_of_table
from pyscale.runreport import report_run
from pyscale.settings import load_settings
from pyscale.severalruns import report_several
from pyscale.store.folder import RunFolder, find_run
from pyscale.store.lock import is_locked


def report_runs(
    names: Sequence[str | None],
    out: Path | None,
    options: ReportOptions = USUAL,
    *,
    archived: bool = False,
    masked: bool = False,
    verbose: bool = False,
) -> None:
    """Write the report of each run, and print its verdict; several are compared with the first.

    `out` is the folder for the report or, if there are several, for their comparison, with one
    folder a run; None puts each into its run, and a comparison into `comparison-report`. Each run
    is `archived` into one zip too, beside its report or into `out`. A UserError says that a run or
    a reference cannot be found or read, or that a run is named twice.
    """
    settings = load_settings()
    refuse_unknown(options.references, settings.references_folder)
    runs = [find_run(settings.runs_folder, name) for name in names]
    _refuse_twice(runs)
    folders, found = [], []
    for run in runs:
        if is_locked(run.path):
            talk(
                f"the run {run.path.name} is not finished: the report is of its trials so far, "
                "and counts a running one as failed"
            )
        folder = run.report
        if out is not None:
            folder = out / run.path.name if len(runs) > 1 else out
        results = report_run(run, folder, options)
        _show(folder, results, verbose=verbose)
        if archived:
            _archive(run, out, options, masked=masked)
        folders.append(folder)
        found.append(results)
    if len(runs) > 1:
        page = report_several(runs, found, folders, out or Path("comparison-report"))
        talk(f"comparison: {page}")


def _archive(run: RunFolder, out: Path | None, options: ReportOptions, *, masked: bool) -> None:
    """Put a run into one zip, and say what a masked one still tells."""
    options = replace(options, own_references=not masked, pictures=not masked)

    def make_report(copy: RunFolder) -> None:
        # The report of the run itself has told what is left out.
        report_run(copy, options=options, tell=lambda _sentence: None)

    with writing_into(out or run.path):
        file = archive(run, out or run.path, make_report, masked=masked)
    talk(f"archive: {file}")
    if masked:
        talk(REMAINS)


def report_table(
    table: Path,
    out: Path | None,
    options: ReportOptions = USUAL,
    *,
    verbose: bool = False,
) -> None:
    """Write the report of a table of wall times, and print its verdict.

    It is one over numbers of workers, or one over devices and sizes of images. The references
    that stand beside it are those of the options.
    """
    own = load_settings().references_folder
    refuse_unknown(options.references, own)
    why_not = why_no_name(table.stem)
    if why_not is not None:
        raise UserError(f"{table} cannot have its name in a report: {why_not}; rename the file")
    find = _of_sizes if has_sizes(table) else results_of_table
    beside = shown_beside(all_references(own, talk).values(), None, asked=options.references)
    results = find(table, beside)
    folder = out or Path(f"{table.stem}-report")
    write_report(folder, results, every_figure=options.every_figure, width_mm=options.width_mm)
    _show(folder, results, verbose=verbose)


def _of_sizes(table: Path, beside: Iterable[Loaded]) -> Results:
    times = read_sizes(table)
    return analysed(
        trials_of_sizes(times, table.stem),
        context_of_table(table),
        interleaved=is_interleaved(times),
        references=beside,
        find_grids=lambda _configurations: grid_findings_of_table(times, table.stem),
    )


def _refuse_twice(runs: Sequence[RunFolder]) -> None:
    """Refuse a run beside itself."""
    for place, run in enumerate(runs):
        if run.path in {other.path for other in runs[:place]}:
            raise UserError(f"{run.path} was given twice: name each run once")


def _show(folder: Path, results: Results, *, verbose: bool) -> None:
    answer(summary_of(results, verbose=verbose))
    for sentence in (*not_to_be_trusted(results.configurations), *missed(results)):
        talk(sentence)
    talk(f"report: {folder / PAGE_NAME}")

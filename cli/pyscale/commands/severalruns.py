"""Several runs beside each other: what each measured, and the page that compares them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from pyscale.analysis.comparison import comparison, rank_times
from pyscale.analysis.machine.beside import machines_beside
from pyscale.analysis.machine.findings import MachineFindings
from pyscale.errors import UserError
from pyscale.evaluation.results import tables_folder
from pyscale.evaluation.run_diff import MeasuredRun, between
from pyscale.planning.runfacts import differing
from pyscale.report.results import Results
from pyscale.report.viewer.several import Several, write_comparison
from pyscale.report.viewer.sources import SideBySide, source_of, sources_of_run
from pyscale.report.write import PAGE_NAME, writing_into
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import build_manifest
from pyscale.store.tables import build_tables, read_table


def report_several(
    runs: Sequence[RunFolder], found: Sequence[Results], reports: Sequence[Path], folder: Path
) -> Path:
    """Write the page that compares runs with the first, with the results and reports of each."""
    measured = [_measured(*each) for each in zip(runs, found, reports, strict=True)]
    hrefs = [href_of(report / PAGE_NAME, folder) for report in reports]
    sources = [
        source_of(
            # Points of grids stay: only what tests of the machine took is shown by itself.
            replace(
                results, kinds=tuple(one for one in results.kinds if one.work != "split")
            ).about_workers(),
            alike=frozenset({("input", run.inputs)}),
            about=_about(run),
            href=href,
        )
        for run, results, href in zip(measured, found, hrefs, strict=True)
    ]
    entries = set.intersection(*(set(run.entries) for run in measured))
    several = Several(
        found=SideBySide.of(sources),
        machines=_machines(measured, found, hrefs),
        started=[results.context.started for results in found],
        contexts=[between(measured[0], run) for run in measured[1:]],
        differing=differing([run.facts(entries) for run in measured]),
        ranks=[comparison(measured[0].rank_trials, run.rank_trials) for run in measured[1:]],
    )
    with writing_into(folder):
        page = write_comparison(folder, several)
    unlike = [context.nothing_in_common for context in several.contexts]
    if all(unlike):
        raise UserError(f"{'; '.join(filter(None, unlike))}: {page} shows each by itself")
    return page


def href_of(file: Path, folder: Path) -> str:
    """Link to a file from a page in a folder; no name in its path is taken for more than that."""
    path = Path(os.path.relpath(file, folder)).as_posix()
    # A name before a colon would be a scheme, as that of javascript is.
    return f"./{quote(os.fsencode(path))}"


def _measured(run: RunFolder, results: Results, report: Path) -> MeasuredRun:
    nodes = {name for node in results.context.nodes for name in node.names}
    # The run's own report has just written them.
    folder = tables_folder(run, report)
    return MeasuredRun(
        run,
        build_manifest(run, build_tables(run).sources),
        tuple(sorted(nodes)),
        results.trials,
        read_table(folder, "timings"),
        rank_times(*(read_table(folder, name) for name in ("loading", "reconstruction"))),
    )


def _machines(
    measured: Sequence[MeasuredRun], found: Sequence[Results], hrefs: Sequence[str]
) -> SideBySide | None:
    """Tests of the machine of all runs that have any; None where none has."""
    sources = [
        source
        for place, (run, results, href) in enumerate(zip(measured, found, hrefs, strict=True))
        if results.of(MachineFindings) is not None
        for source in sources_of_run(
            results, place=place, timings=run.timings, about=_about(run), href=href
        )
    ]
    return SideBySide.of(sources, machines_beside) if sources else None


def _about(run: MeasuredRun) -> str:
    """What distinguishes a run at first sight."""
    plan = run.run.plan
    if plan.movie is None:
        return f"{plan.suite.name} {plan.on_what}"
    movie = f"{plan.movie.name}, {plan.how_much}"
    return f"{plan.suite.name} on {movie}, page cache {plan.settings['cache']}"

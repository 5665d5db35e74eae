"""Several runs beside each other: what each was measured on, and the page that compares them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pyscale.betweenruns import MeasuredRun, between
from pyscale.report.page.write import NAME as PAGE
from pyscale.report.results import Results
from pyscale.report.viewer.build import SideBySide
from pyscale.report.viewer.comparisonpage import write_comparison
from pyscale.report.viewer.ofresults import source_of
from pyscale.report.viewer.several import Several
from pyscale.report.write import writing_into
from pyscale.runfacts import differing
from pyscale.store.folder import RunFolder
from pyscale.store.manifest import build_manifest


def report_several(
    runs: Sequence[RunFolder],
    found: Sequence[Results],
    reports: Sequence[Path],
    folder: Path,
) -> Path:
    """Write the page that compares runs with the first of them.

    Parameters
    ----------
    runs : sequence of RunFolder
        Two or more.
    found : sequence of Results
        What each shows.
    reports : sequence of Path
        Folder of the report of each.
    folder : Path
        Of the page; made if absent.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    UserError
        If a run does not tell what it was measured with, or the folder cannot be written into.
    """
    measured = [_measured(run, results) for run, results in zip(runs, found, strict=True)]
    sources = [
        source_of(
            results,
            alike=frozenset({("input", run.inputs)}),
            about=_about(run),
            href=Path(os.path.relpath(report / PAGE, folder)).as_posix(),
        )
        for run, results, report in zip(measured, found, reports, strict=True)
    ]
    entries = set.intersection(*(set(run.entries) for run in measured))
    several = Several(
        found=SideBySide.of(sources),
        started=[results.context.started for results in found],
        contexts=[between(measured[0], run) for run in measured[1:]],
        differing=differing([run.facts(entries) for run in measured]),
    )
    with writing_into(folder):
        return write_comparison(folder, several)


def _measured(run: RunFolder, results: Results) -> MeasuredRun:
    nodes = {name for node in results.context.nodes for name in node.names}
    return MeasuredRun(run, build_manifest(run), tuple(sorted(nodes)), results.trials)


def _about(run: MeasuredRun) -> str:
    """What distinguishes a run at first sight."""
    plan = run.run.plan
    movie = f"{plan.movie.name}, {plan.movie_frames} frames"
    return f"{plan.suite.name} on {movie}, page cache {plan.settings['cache']}"

"""`pyscale report`: reports of runs and tables, and the page that compares several runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from pyscale import api
from pyscale.analysis.comparison import comparison, rank_times
from pyscale.analysis.machine.beside import machines_beside
from pyscale.analysis.machine.findings import MachineFindings, machine_tests
from pyscale.commands.archiving import archive
from pyscale.console import answer, talk
from pyscale.errors import UserError
from pyscale.evaluation.results import (
    USUAL,
    ReportOptions,
    report_run,
    tables_folder,
)
from pyscale.evaluation.run_diff import MeasuredRun, between, refuse_twice
from pyscale.planning.runfacts import differing
from pyscale.planning.traits import measures_alone
from pyscale.report.answers import answers_of
from pyscale.report.cryosparclike import Measured, benchmark_files
from pyscale.report.results import Results
from pyscale.report.sentences import missed, not_to_be_trusted
from pyscale.report.terminal import summary_of
from pyscale.report.viewer.several import Several, write_comparison
from pyscale.report.viewer.sources import SideBySide, source_of, sources_of_run
from pyscale.report.write import PAGE_NAME, writing_into
from pyscale.settings import load_settings
from pyscale.store.folder import RunFolder, find_run
from pyscale.store.manifest import build_manifest
from pyscale.store.tables import Tables, build_tables, read_table
from pyscale_stages.atomic import write_atomically


def report_runs(
    names: Sequence[str | None],
    out: Path | None,
    options: ReportOptions = USUAL,
    *,
    archived: bool = False,
    verbose: bool = False,
    as_json: bool = False,
) -> None:
    """Write the report of each run, and print its verdict; several are compared with the first."""
    runs_folder = load_settings().runs_folder
    runs = [find_run(runs_folder, name) for name in names]
    refuse_twice([run.path for run in runs])
    folders, found = [], []
    for run in runs:
        folder = run.report
        if out is not None:
            folder = out / run.path.name if len(runs) > 1 else out
        told = api.report(run.path, out=folder, reference=options.references)
        show(told, verbose=verbose, with_quality=run.plan.truth is not None, as_json=as_json)
        if archived:
            _archive(run, out, options)
        folders.append(folder)
        found.append(told.results)
    if len(runs) > 1:
        page = report_several(runs, found, folders, out or Path("comparison-report"))
        talk(f"comparison: {page}")


TELLS = (
    "the archive holds records and report as they are, with paths, pictures and the names of hosts "
    "and people: to publish numbers, use `pyscale reference add`"
)


def _archive(run: RunFolder, out: Path | None, options: ReportOptions) -> None:
    """Put a run into one zip, and say what it tells."""

    def make_report(copy: RunFolder) -> None:
        # The report of the run itself has told what is left out.
        report_run(copy, options=options, tell=lambda _sentence: None)

    with writing_into(out or run.path):
        file = archive(run, out or run.path, make_report)
    talk(f"archive: {file}")
    talk(TELLS)


def show(told: api.Run, *, verbose: bool, with_quality: bool = False, as_json: bool) -> None:
    """Print what a report tells, and where it lies."""
    results = told.results
    if as_json:
        print(answers_of(results).model_dump_json(indent=1))  # noqa: T201 - the command's answer
    else:
        answer(summary_of(results, verbose=verbose, with_quality=with_quality))
    for sentence in (*not_to_be_trusted(results.configurations), *missed(results)):
        talk(sentence)
    talk(f"report: {told.page}")


FOLDER = "cryosparc-like"


def write_cryosparc_like(names: Sequence[str | None], out: Path | None) -> None:
    """Write tests of runs as JSON and CSV, by default beside the report of each."""
    runs_folder = load_settings().runs_folder
    for run in [find_run(runs_folder, name) for name in names]:
        tables = build_tables(run)
        files = benchmark_files(machine_tests(tables.timings), _measured(run, tables))
        if not files:
            raise UserError(
                f"the run {run.plan.run_id} has no machine test for these files: measure with "
                "`pyscale run system`"
            )
        own = run.report / FOLDER if out is None else out
        folder = own / run.path.name if out is not None and len(names) > 1 else own
        with writing_into(folder):
            for name, data in files.items():
                for ending, text in (("json", data.as_json), ("csv", data.as_csv)):
                    write_atomically(folder / f"{name}.{ending}", text)
                    print(folder / f"{name}.{ending}")  # noqa: T201 - the command's answer
        talk(
            "these are times of pyscale in the format of CryoSPARC's files, not times of CryoSPARC"
        )


def _measured(run: RunFolder, tables: Tables) -> Measured:
    manifest = build_manifest(run, tables.sources)
    labels = dict(tables.tasks.select("node", "hardware").drop_nulls().unique().iter_rows())
    stamps = {label: found["stamp"] for label, found in manifest["hardware"].items()}
    plan = run.plan
    of_machine = [trial for trial in plan.trials if measures_alone(trial.stage)]
    # Of entries of one stage, the first is taken.
    params = {trial.stage: trial.params for trial in reversed(of_machine)}
    begin = tables.tasks["submit_utc"].min()
    return Measured(
        version=manifest["pyscale"]["version"],
        created_at=begin.timestamp() if begin is not None else 0.0,  # type: ignore[union-attr]
        movies=params.get("storage", {}).get("movies", 1),
        params=params,
        folder=None if plan.place is None else str(plan.place),
        stamps={node: stamps[label] for node, label in labels.items() if label in stamps},
    )


def report_several(
    runs: Sequence[RunFolder], found: Sequence[Results], reports: Sequence[Path], folder: Path
) -> Path:
    """Write the page that compares runs with the first, with the results and reports of each."""
    measured = [_run_measured(*each) for each in zip(runs, found, reports, strict=True)]
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


def _run_measured(run: RunFolder, results: Results, report: Path) -> MeasuredRun:
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

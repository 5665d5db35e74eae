"""The commands on what was measured: report, compare, advise, import and `reference …`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import typer

from pyscale.commandhelp import JSON, RUN, argument, group, helped, option, switch


def report(
    runs: list[str] | None = argument(
        "RUN", "Ids, unique starts or ends, or folders.", show_default="latest"
    ),
    table: Path | None = option("CSV", "Table of wall times, from anywhere."),
    out: Path | None = option("DIR", "Folder for the report.", show_default="the run's"),
    reference: list[str] | None = option(
        "NAME|none", "Others' results to show.", show_default="those of the same work"
    ),
    archive: bool = switch("--archive", "Also put each run into one zip, without its outputs."),
    form: Literal["cryosparc-like"] | None = option(
        "cryosparc-like",
        "Instead of a report, tests of the machine as JSON and CSV in CryoSPARC's shape.",
        "--format",
    ),
    json: bool = JSON,
    verbose: bool = typer.Option(False, "-v", "--verbose", help="Print the report's tables too."),
) -> None:
    """Write the report of runs or of a table.

    Several runs are set side by side. --table reads wall times measured anywhere.
    """
    if form is not None:
        if table is not None or archive:
            raise typer.BadParameter(
                "--format cryosparc-like writes no report: give runs and --out alone beside it"
            )
        from pyscale.commands.reporting import write_cryosparc_like

        write_cryosparc_like(runs or [None], out)
        return
    if table is not None and runs:
        raise typer.BadParameter("give runs, or --table with a table of wall times, not both")
    if table is not None and archive:
        raise typer.BadParameter("--table has no records: leave out --archive")
    from pyscale import api
    from pyscale.commands import reporting
    from pyscale.evaluation.results import ReportOptions

    if table is not None:
        told = api.report(table=table, out=out, reference=reference or ())
        reporting.show(told, verbose=verbose, as_json=json)
        return
    options = ReportOptions(references=tuple(reference or ()))
    if json and runs and len(runs) > 1:
        raise typer.BadParameter("--json gives the answers of one run: name one")
    reporting.report_runs(
        runs or [None], out, options, archived=archive, verbose=verbose, as_json=json
    )


def compare(
    base: str = argument("BASE", "Run, or a CSV of wall times.", default=...),
    new: str | None = argument("NEW", "Run or CSV to judge; none for a run of two versions."),
    at_least: str | None = option("PERCENT", "Least change that counts, as in 5%."),
    fail_on: Literal["regression"] | None = option(
        "regression", "Exit code 1 where anything is worse."
    ),
    json: bool = JSON,
) -> None:
    """Compare two runs: better, worse or the same."""
    from pyscale.commands import comparing

    raise typer.Exit(
        comparing.compare(
            base,
            new,
            at_least=at_least,
            fail_on_regression=fail_on is not None,
            as_json=json,
        )
    )


def advise(
    run: str | None = RUN,
    table: Path | None = option("CSV", "Table of wall times, from anywhere."),
    objective: str | None = option(
        "OBJECTIVE",
        "What N is best for: knee, fastest, most, soonest, min_efficiency=0.7, deadline=30min, "
        "budget=2.5 (worker-hours).",
        show_default="knee and fastest",
    ),
    dialect: Literal["sbatch", "nextflow", "snakemake"] = option(
        "[sbatch|nextflow|snakemake]", "What the lines to paste are for.", "--as", default="sbatch"
    ),
    site: str | None = option("SITE", "Cluster to ask: a shipped name, or your .toml."),
    why: bool = switch("--why", "Print every choice, its limits and further runs too."),
    json: bool = JSON,
) -> None:
    """Say what to request for each stage."""
    from pyscale import api
    from pyscale.console import answer, harmless
    from pyscale.report.terminal import advice_shown

    found = api.advise(run, table=table, objective=objective, dialect=dialect, site=site)
    if json:
        print(found.model_dump_json(indent=1))  # noqa: T201 - the command's answer
        return
    for part in advice_shown(found, why=why):
        if isinstance(part, str):
            # Lines to paste are not to be broken.
            print(harmless(part))  # noqa: T201
        else:
            answer(part)


def import_traces(
    trace_format: str = argument("FORMAT", "sacct, nextflow or snakemake.", default=...),
    files: list[Path] = argument("FILE", "Traces to read.", default=...),
    workers: int | None = option("N", "N of these trials, where the trace does not tell.", min=1),
    stage: str | None = option("NAME", "Name of the stage, where the trace has none."),
    out: Path | None = option("CSV", "Table to write.", show_default="print it"),
) -> None:
    """Turn traces into a table for report --table.

    A job array of sacct is a trial, as are a process in a trace of Nextflow and a rule in
    benchmarks or a folder .snakemake/metadata of Snakemake. N is how many of its tasks ran at once,
    where the trace tells.
    """
    from pyscale.traces import command

    command.import_traces(trace_format, files, workers=workers, stage=stage, out=out)


reference_app = group("List, show and add results of others.", "pyscale reference list")


@reference_app.command("list", **helped("pyscale reference list"))
def list_references(json: bool = JSON) -> None:
    """List every reference, its stages, date and author."""
    from pyscale.references.files import all_references, reference_files
    from pyscale.references.view import show_all

    own = _own_folder()
    show_all(all_references(own), reference_files(own), as_json=json)


@reference_app.command(**helped("pyscale reference show NAME"))
def show(
    name: str = argument("NAME", default=...),
    json: bool = JSON,
) -> None:
    """Show source, hardware and numbers of one."""
    from pyscale.references.files import load_reference
    from pyscale.references.view import show_one

    show_one(load_reference(name, _own_folder()), as_json=json)


@reference_app.command(**helped("pyscale reference add latest --name my-lab"))
def add(
    run: str = argument("RUN", "Id, unique start or end of one, or folder.", default=...),
    name: str | None = option("NAME", "Name for it.", show_default="the run's id"),
) -> None:
    """Make a reference of a run.

    It holds no names of people and hosts, and no paths.

    Prints the file to look through, and to complete, before giving it to others.
    """
    from pyscale.console import talk
    from pyscale.references.files import refuse_name, write_reference
    from pyscale.references.fromrun import reference_from
    from pyscale.settings import load_settings
    from pyscale.store.folder import find_run

    settings = load_settings()
    found = find_run(settings.runs_folder, run)
    chosen = found.plan.run_id.lower() if name is None else name
    refuse_name(chosen, settings.references_folder)
    made = reference_from(found, chosen)
    typer.echo(write_reference(made, settings.references_folder))
    talk(
        f"show it by `pyscale reference show {chosen}`; reports of other runs of the same work now "
        f"include it, and any report with --reference {chosen}"
    )


def _own_folder() -> Path:
    from pyscale.settings import load_settings

    return load_settings().references_folder

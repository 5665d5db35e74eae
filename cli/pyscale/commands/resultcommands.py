"""The commands on what was measured: report, compare, advise and import."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import typer

from pyscale.commandhelp import JSON, RUN, argument, option, switch


def report(
    runs: list[str] | None = argument(
        "RUN", "Ids, unique starts or ends, or folders.", show_default="latest"
    ),
    table: Path | None = option("CSV", "Table of wall times, from anywhere."),
    out: Path | None = option("DIR", "Folder for the report.", show_default="the run's"),
    count_retried: bool = switch("--count-retried", "Also time trials that succeeded on a retry."),
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
        if table is not None or count_retried or archive:
            raise typer.BadParameter(
                "--format cryosparc-like writes no report: give runs and --out alone beside it"
            )
        from pyscale.commands.reporting import write_cryosparc_like

        write_cryosparc_like(runs or [None], out)
        return
    if table is not None and runs:
        raise typer.BadParameter("give runs, or --table with a table of wall times, not both")
    if table is not None and (count_retried or archive):
        raise typer.BadParameter("--table has no records: leave out --count-retried and --archive")
    from pyscale import api
    from pyscale.commands import reporting
    from pyscale.evaluation.results import ReportOptions

    if table is not None:
        told = api.report(table=table, out=out, reference=reference or ())
        reporting.show(told, verbose=verbose, as_json=json)
        return
    options = ReportOptions(count_retried=count_retried, references=tuple(reference or ()))
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
    from pyscale.report.adviceview import shown

    found = api.advise(run, table=table, objective=objective, dialect=dialect, site=site)
    if json:
        print(found.model_dump_json(indent=1))  # noqa: T201 - the command's answer
        return
    for part in shown(found, why=why):
        if isinstance(part, str):
            # Lines to paste are not to be broken.
            print(harmless(part))  # noqa: T201
        else:
            answer(part)


def import_traces(
    trace_format: str = argument("FORMAT", "sacct, nextflow or snakemake.", default=...),
    files: list[Path] = argument("FILE", "Traces to read.", default=...),
    workers: str | None = option(
        "N|COLUMN", "N of these trials, or the column of the trace that holds it."
    ),
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

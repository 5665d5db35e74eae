"""The commands on what was measured: report, compare, advise and import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

RunArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN", help="Id, unique start or end of one, or folder.", show_default="latest"
    ),
]


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN", help="Ids, unique starts or ends, or folders.", show_default="latest"
        ),
    ] = None,
    table: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Table of wall times, from anywhere.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the report.", show_default="the run's"),
    ] = None,
    count_retried: Annotated[
        bool,
        typer.Option("--count-retried", help="Also time trials that succeeded on a retry."),
    ] = False,
    figures: Annotated[
        bool, typer.Option("--figures", help="Draw all figures for print, not only two.")
    ] = False,
    width: Annotated[
        Literal["88", "180"],
        typer.Option(
            metavar="[88|180]", help="Width of figures in mm: one column of a journal, or two."
        ),
    ] = "180",
    reference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|none",
            help="Others' results to show.",
            show_default="those of the same work",
        ),
    ] = None,
    archive: Annotated[
        bool, typer.Option("--archive", help="Also put each run into one zip, without its outputs.")
    ] = False,
    mask: Annotated[
        bool,
        typer.Option("--mask", help="Replace paths and names of hosts and people in that zip."),
    ] = False,
    form: Annotated[
        Literal["cryosparc-like"] | None,
        typer.Option(
            "--format",
            metavar="cryosparc-like",
            help="Instead of a report, tests of the machine as JSON and CSV in CryoSPARC's shape.",
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Print the table of factors too.")
    ] = False,
) -> None:
    """Write the report of runs or of a table.

    Several runs are set side by side. --table reads wall times measured anywhere.
    """
    if form is not None:
        if table is not None or count_retried or figures or archive or mask:
            raise typer.BadParameter(
                "--format cryosparc-like writes no report: give runs and --out alone beside it"
            )
        from pyscale.reporting import write_cryosparc_like

        write_cryosparc_like(runs or [None], out)
        return
    if table is not None and runs:
        raise typer.BadParameter("give runs, or --table with a table of wall times, not both")
    if table is not None and (count_retried or archive or mask):
        raise typer.BadParameter(
            "a --table has no records: leave out --count-retried, --archive and --mask"
        )
    if mask and not archive:
        raise typer.BadParameter("--mask is for the zip of --archive: give both")
    from pyscale import reporting
    from pyscale.results import ReportOptions

    options = ReportOptions(
        count_retried=count_retried,
        every_figure=figures,
        width_mm=88 if width == "88" else 180,
        references=tuple(reference or ()),
    )
    if table is not None:
        reporting.report_table(table, out, options, verbose=verbose)
        return
    reporting.report_runs(
        runs or [None], out, options, archived=archive, masked=mask, verbose=verbose
    )


def compare(
    base: Annotated[str, typer.Argument(metavar="BASE", help="Run, or a CSV of wall times.")],
    new: Annotated[
        str | None,
        typer.Argument(
            metavar="NEW",
            help="Run or CSV to judge; none for a run of two versions.",
        ),
    ] = None,
    at_least: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Least change that counts, as in 0.05 (5%).")
    ] = None,
    yardstick: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN",
            help="Another run of BASE's version; a change must exceed how they differ. Repeatable.",
        ),
    ] = None,
    fail_on: Annotated[
        Literal["regression"] | None,
        typer.Option(metavar="regression", help="Exit code 1 where anything is worse."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare two runs: better, worse or the same."""
    from pyscale import comparing

    raise typer.Exit(
        comparing.compare(
            base,
            new,
            yardsticks=yardstick or (),
            at_least=at_least,
            fail_on_regression=fail_on is not None,
            as_json=json,
        )
    )


def advise(
    run: RunArgument = None,
    table: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Table of wall times, from anywhere.")
    ] = None,
    objective: Annotated[
        Literal["knee", "fastest", "budget"] | None,
        typer.Option(
            metavar="[knee|fastest|budget]", help="What N is best for.", show_default="all"
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(metavar="WORKER_HOURS", help="Most that a stage may cost: N x hours."),
    ] = None,
    dialect: Annotated[
        Literal["sbatch", "nextflow", "snakemake"],
        typer.Option(
            "--as", metavar="[sbatch|nextflow|snakemake]", help="What the lines to paste are for."
        ),
    ] = "sbatch",
    site: Annotated[
        str | None,
        typer.Option(metavar="SITE", help="Cluster to ask: a shipped name, or your .toml."),
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="Print every choice, its limits and further runs too.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what to request for each stage."""
    from pyscale import advising

    if table is not None and run is not None:
        raise typer.BadParameter("give a run, or --table with a table of wall times, not both")
    advising.advise(
        run,
        table,
        objective=objective,
        worker_hours=budget,
        dialect=dialect,
        site=site,
        as_json=json,
        why=why,
    )


def import_traces(
    trace_format: Annotated[
        str,
        typer.Argument(metavar="FORMAT", help="sacct, nextflow, snakemake or jobstats."),
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Traces to read.")],
    workers: Annotated[
        str | None,
        typer.Option(
            metavar="N|COLUMN", help="N of these trials, or the column of the trace that holds it."
        ),
    ] = None,
    stage: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the stage, where the trace has none."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Table to write.", show_default="print it")
    ] = None,
) -> None:
    """Turn traces into a table for report --table.

    A job array of sacct is a trial, as are a process in a trace of Nextflow and a rule in
    benchmarks of Snakemake. N is how many of its tasks ran at once, where the trace tells.
    """
    from pyscale.traces import command

    command.import_traces(trace_format, files, workers=workers, stage=stage, out=out)

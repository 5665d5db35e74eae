"""The command line: each command is a few lines that call one package.

Everything heavier than Typer is imported inside the command that needs it, so that
`pyscale --help` and shell completion answer at once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from pyscale import DISTRIBUTION
from pyscale.data.commands import data_app
from pyscale.images.commands import image_app
from pyscale.referencing import reference_app

app = typer.Typer(
    name="pyscale",
    help="Measure how a bioimage pipeline scales, what holds it back and what to request.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain help: rich would take longer to import than all the rest.
    rich_markup_mode=None,
)
config_app = typer.Typer(help="Settings and where each comes from.", no_args_is_help=True)
app.add_typer(data_app, name="data")
app.add_typer(image_app, name="image")
app.add_typer(reference_app, name="reference")
app.add_typer(config_app, name="config")

RunArgument = Annotated[
    str | None,
    typer.Argument(metavar="RUN", help="Run id or folder; the latest where none is given."),
]


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version(DISTRIBUTION))
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, help="Print the version.")
    ] = False,
) -> None:
    """Measure how a bioimage pipeline scales, what holds it back and what to request."""


@app.command()
def run(
    suite: Annotated[
        str | None,
        typer.Argument(help="Suite to measure, like 'pipeline', or a path of your own."),
    ] = None,
    data: Annotated[str | None, typer.Option(help="Dataset name, or path of a movie.")] = None,
    truth: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Truth: a Cell Tracking Challenge folder, label images, or TrackMate XML.",
        ),
    ] = None,
    path: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder whose storage the suite system measures."),
    ] = None,
    with_system: Annotated[
        bool | None,
        typer.Option("--with-system", help="Measure too, in brief, what the node can do."),
    ] = None,
    axes: Annotated[str | None, typer.Option(help="Axes of the movie, as in TYX.")] = None,
    workers: Annotated[str | None, typer.Option(help="Worker counts N, as in 1,2,4.")] = None,
    scaling: Annotated[
        str | None,
        typer.Option(help="strong: N workers share the movie; weak: it grows with N."),
    ] = None,
    repeats: Annotated[int | None, typer.Option(help="Trials of each configuration.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Measure this stage alone.")] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="BASE",
            help="Measure another version of the stages too, pair by pair, and compare: a Python "
            "environment, a folder of images, or a .toml of parameters.",
        ),
    ] = None,
    cache: Annotated[str | None, typer.Option(help="cold, warm or asis.")] = None,
    device: Annotated[
        str | None,
        typer.Option(help="cpu, cuda or mps; several, as in cpu,cuda, of a suite that compares."),
    ] = None,
    sizes: Annotated[
        str | None, typer.Option(help="Sizes of a suite that compares them, as in 224,448,full.")
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(metavar="AXIS=V1,V2", help="Values of one axis of the suite's grid."),
    ] = None,
    cpus_per_worker: Annotated[int | None, typer.Option(help="Cores of each worker.")] = None,
    executor: Annotated[
        str | None, typer.Option(help="Where tasks run: local, or slurm for a cluster.")
    ] = None,
    site: Annotated[
        str | None, typer.Option(help="Cluster that jobs are for: a shipped name, or your .toml.")
    ] = None,
    every_node: Annotated[
        bool | None,
        typer.Option(
            "--every-node", help="Measure each node of the site's partition, all at once."
        ),
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option(help="How Slurm starts workers: array, or gang for one job with all."),
    ] = None,
    chunks_per_worker: Annotated[
        int | None, typer.Option(help="Windows of each worker, one after the other.")
    ] = None,
    runtime: Annotated[
        str | None, typer.Option(help="How tasks start: native, or in images with apptainer.")
    ] = None,
    unlocked_images: Annotated[
        bool | None,
        typer.Option("--unlocked-images", help="Run images that images.lock does not name."),
    ] = None,
    retries: Annotated[int | None, typer.Option(help="Tries after a failed one.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the order and the stages.")] = None,
    keep_outputs: Annotated[str | None, typer.Option(help="reference or all.")] = None,
    emit_sbatch: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write batch scripts; run nothing.")
    ] = None,
    accept_terms: Annotated[
        bool, typer.Option("--accept-terms", help="Agree to the dataset's terms.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show what would run and cost, and what is missing; only absent data is fetched.",
        ),
    ] = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="Return at once; follow with status.")
    ] = False,
    resume: Annotated[str | None, typer.Option(help="Finish this run.")] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit code 1 where an output is not the baseline's."),
    ] = False,
) -> None:
    """Measure a suite on a movie, or the machine itself, and report."""
    from pyscale import running
    from pyscale.runsettings import axes_asked_for

    flags = {
        "data": data,
        "truth": truth,
        "path": path,
        "with_system": with_system,
        "axes": axes,
        "workers": workers,
        "scaling": scaling,
        "repeats": repeats,
        "against": against,
        "cache": cache,
        "device": device,
        "grid": axes_asked_for(sizes, grid or []),
        "cpus_per_worker": cpus_per_worker,
        "executor": executor,
        "every_node": every_node,
        "layout": layout,
        "chunks_per_worker": chunks_per_worker,
        "runtime": runtime,
        "unlocked_images": unlocked_images,
        "retries": retries,
        "seed": seed,
        "keep_outputs": keep_outputs,
        "site": site,
    }
    if resume is not None:
        others = {
            "suite": suite,
            "only": only,
            "accept_terms": accept_terms,
            "dry_run": dry_run,
            "emit_sbatch": emit_sbatch,
        }
        given = [name for name, value in (flags | others).items() if value]
        raise typer.Exit(running.resume(resume, detach=detach, strict=strict, refused=given))
    if emit_sbatch is not None:
        if dry_run or detach or strict:
            raise typer.BadParameter(
                "--emit-sbatch runs nothing: leave out --dry-run, --detach and --strict"
            )
        from pyscale.sbatch.emit import emit

        emit(suite, flags, only or [], emit_sbatch, accept_terms=accept_terms)
        return
    raise typer.Exit(
        running.start(
            suite,
            flags,
            only or [],
            accept_terms=accept_terms,
            dry_run=dry_run,
            detach=detach,
            strict=strict,
        )
    )


@app.command()
def status(
    run: RunArgument = None,
    watch: Annotated[bool, typer.Option("--watch", help="Follow the run until it ends.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON, with every task of every trial.")
    ] = False,
    log: Annotated[
        bool, typer.Option("--log", help="Tell what happened so far, in words.")
    ] = False,
) -> None:
    """Show where a run stands."""
    if watch + json + log > 1:
        raise typer.BadParameter("give one of --watch, --json and --log")
    from pyscale import statusview

    statusview.show(run, watch=watch, as_json=json, log=log)


@app.command()
def cancel(run: RunArgument = None) -> None:
    """End a run and everything that it started.

    `pyscale run --resume RUN` finishes it later.
    """
    from pyscale import running

    running.cancel(run)


@app.command()
def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN", help="Run ids or folders; the latest where none is given."),
    ] = None,
    table: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Table of wall times, from anywhere.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the report; the run's own by default."),
    ] = None,
    count_retried: Annotated[
        bool,
        typer.Option("--count-retried", help="Time trials too that succeeded only on a retry."),
    ] = False,
    figures: Annotated[
        bool, typer.Option("--figures", help="Draw all figures for print, not only two.")
    ] = False,
    archive: Annotated[
        bool, typer.Option("--archive", help="Also put each run into one zip, without its outputs.")
    ] = False,
    mask: Annotated[
        bool,
        typer.Option("--mask", help="Replace paths, and names of hosts and people, in that zip."),
    ] = False,
    form: Annotated[
        Literal["cryosparc-like"] | None,
        typer.Option(
            "--format",
            help="Instead of a report, tests of the machine as JSON and CSV in CryoSPARC's shape.",
        ),
    ] = None,
) -> None:
    """Write the report of runs, or of any table of wall times; several runs are compared."""
    from pyscale import reporting

    if form is not None:
        if table is not None or count_retried or figures or archive or mask:
            raise typer.BadParameter(
                "--format cryosparc-like writes no report: give runs and --out alone beside it"
            )
        from pyscale.cryosparclike import write_cryosparc_like

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
    if table is not None:
        reporting.report_table(table, out, every_figure=figures)
    else:
        reporting.report_runs(
            runs or [None],
            out,
            count_retried=count_retried,
            every_figure=figures,
            archived=archive,
            masked=mask,
        )


@app.command()
def compare(
    base: Annotated[
        str, typer.Argument(metavar="BASE", help="Run id or folder, or a CSV of wall times.")
    ],
    new: Annotated[
        str | None,
        typer.Argument(
            metavar="NEW",
            help="The one that is judged, of the same kind; none for a run of two versions.",
        ),
    ] = None,
    at_least: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Least change that counts, as in 0.05 (5%).")
    ] = None,
    yardstick: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN",
            help="Another run of BASE's version: a change must exceed how far they differ. "
            "May be given several times.",
        ),
    ] = None,
    fail_on: Annotated[
        Literal["regression"] | None, typer.Option(help="Exit code 1 where anything is worse.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say which configurations are better, worse or the same in NEW than in BASE."""
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


@app.command()
def advise(
    run: RunArgument = None,
    table: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Table of wall times, from anywhere.")
    ] = None,
    objective: Annotated[
        Literal["knee", "fastest", "budget"] | None,
        typer.Option(help="What the N is to be best for; all where none is given."),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(metavar="WORKER_HOURS", help="What a stage may cost: N x hours."),
    ] = None,
    dialect: Annotated[
        Literal["sbatch", "nextflow", "snakemake"],
        typer.Option("--as", help="What the lines to paste are for."),
    ] = "sbatch",
    site: Annotated[
        str | None, typer.Option(help="Cluster that they ask: a shipped name, or your .toml.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say which N to request for each stage, why, how sure that is, and what would settle it."""
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
    )


@app.command("import")
def import_traces(
    trace_format: Annotated[
        str, typer.Argument(metavar="FORMAT", help="sacct, nextflow, snakemake or jobstats.")
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Traces to read.")],
    workers: Annotated[
        str | None,
        typer.Option(
            metavar="N|COLUMN", help="N of these trials, or the column of the trace that holds it."
        ),
    ] = None,
    stage: Annotated[
        str | None, typer.Option(help="Name of the stage, where the trace has none.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Table to write; else it is printed.")] = None,
) -> None:
    """Turn traces that you have into a table of wall times, for `report --table`.

    A job array of sacct is a trial, as are a process in a trace of Nextflow and a rule in
    benchmarks of Snakemake. N is how many of its tasks ran at once, where the trace tells.
    """
    from pyscale.traces import command

    command.import_traces(trace_format, files, workers=workers, stage=stage, out=out)


@app.command()
def hardware(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show what this machine is, as every result records it."""
    from pyscale import hardwareview

    hardwareview.show(as_json=json)


@app.command()
def doctor(
    suite: Annotated[str, typer.Option(help="Suite that is to run.")] = "pipeline",
    device: Annotated[str | None, typer.Option(help="cpu, cuda or mps.")] = None,
    partition: Annotated[
        str | None, typer.Option(help="Ask every node of this Slurm partition, by a job each.")
    ] = None,
    site: Annotated[
        str | None, typer.Option(help="Ask the nodes that this site's jobs go to, as it asks.")
    ] = None,
    wait: Annotated[
        float, typer.Option(metavar="MINUTES", min=0, help="How long nodes may take to answer.")
    ] = 5.0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what this machine, or each node of a partition, can do, and how to get what it lacks.

    Exit code 1 where a run would fail.
    """
    from pyscale.doctor import command

    raise typer.Exit(
        command.doctor(
            suite, device=device, partition=partition, site=site, wait_min=wait, as_json=json
        )
    )


@config_app.command("show")
def config_show(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show every setting, its value, and where the value comes from."""
    from pyscale import configview

    configview.show(as_json=json)


def main() -> None:
    """Run the command line; an error that a user can act on is one sentence.

    Exit codes: 2 for the user's mistakes, 3 where memory or the disk ran out, 130 after Ctrl-C,
    a closed terminal and a polite kill.
    """
    from pyscale.interruption import termination_as_interrupt

    try:
        with termination_as_interrupt():
            _refuse_other_text()
            app()
    except SystemExit as end:
        # So Typer answers Ctrl-C, without a word.
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            sys.exit(_said("interrupted", 130))
        raise
    except BrokenPipeError:
        # The reader of our output, like `head`, has seen enough.
        sys.stderr.close()
        sys.exit(0)
    except Exception as raised:
        from pyscale.errors import UserError
        from pyscale_stages.errors import as_stage_error

        if isinstance(raised, UserError):
            sys.exit(_said(f"error: {raised}", 2))
        if "surrogates not allowed" in str(raised):
            # Neither pydantic nor Python says of which path.
            remedy = "rename it (find FOLDER | LC_ALL=C.UTF-8 grep -axv '.*' names such files)"
            sys.exit(_said(f"error: a file's name in the data is not UTF-8: {remedy}", 2))
        known = as_stage_error(raised)
        if known is None:
            raise
        sys.exit(_said(f"error: {known}", known.exit_code))


def _refuse_other_text() -> None:
    """Raise where an argument, or the working folder, is not UTF-8: no record could hold it."""
    for text in (*sys.argv[1:], str(Path.cwd())):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            from pyscale.errors import UserError

            raise UserError(
                f"{text.encode(errors='backslashreplace').decode()} is not UTF-8, as every path in "
                "a record must be: rename it"
            ) from error


def _said(sentence: str, exit_code: int) -> int:
    from pyscale.console import harmless

    print(harmless(sentence), file=sys.stderr)  # noqa: T201 - talk goes to stderr
    return exit_code

"""The command line: each command is a few lines that call one package.

Everything heavier than Typer is imported inside the command that needs it, so that
`pyscale --help` and shell completion answer at once.
"""

from __future__ import annotations

import sys

import typer

from pyscale import DISTRIBUTION
from pyscale.commandhelp import JSON, RUN, Group, argument, group, helped, option, switch
from pyscale.commands.resultcommands import (
    advise,
    compare,
    import_traces,
    reference_app,
    report,
)
from pyscale.commands.runcommand import extend, resume, run
from pyscale.data.commands import data_app
from pyscale.images.commands import image_app

app = typer.Typer(
    name="pyscale",
    cls=Group,
    epilog="pyscale run pipeline --data my.tif --workers 1,2,4\npyscale advise",
    help="Measure how a bioimage pipeline scales, what holds it back and what to request.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain help: rich would take longer to import than all the rest.
    rich_markup_mode=None,
)
config_app = group(
    "Show settings and where each comes from, or write a file of them.", "pyscale config show"
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version(DISTRIBUTION))
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, help="Print the version."
    ),
) -> None:
    """Measure how a bioimage pipeline scales, what holds it back and what to request."""


app.command(
    **helped(
        "pyscale run pipeline --data my.tif --workers 1,2,4",
        "pyscale run pipeline --data my.tif --only segment --dry-run",
        settings_are_defaults=True,
    )
)(run)
app.command(**helped("pyscale resume latest"))(resume)
app.command(**helped("pyscale extend latest --repeats 6"))(extend)


@app.command(**helped("pyscale work latest"))
def work(run: str = RUN) -> None:
    """Work off what is left of a run, in this process.

    `pyscale run` and `pyscale resume` start it here, and Slurm in the jobs of a run.
    """
    from pyscale.commands import running

    running.work_off(run)


@app.command(**helped("pyscale suites", "pyscale suites pipeline"))
def suites(
    suite: str | None = argument("SUITE", "Show its stages and their parameters alone."),
) -> None:
    """List the suites that can be measured."""
    from pyscale.commands import listings

    if suite is None:
        listings.show_suites()
    else:
        listings.show_suite(suite)


@app.command(**helped("pyscale runs", "pyscale runs --json"))
def runs(json: bool = JSON) -> None:
    """List the runs, newest first."""
    from pyscale.commands import listings

    listings.show_runs(as_json=json)


@app.command(**helped("pyscale status --watch"))
def status(
    run: str | None = RUN,
    watch: bool = switch("--watch", "Follow the run until it ends."),
    json: bool = switch("--json", "Print JSON, with every task of every trial."),
    log: bool = switch("--log", "Show what happened so far, in words."),
) -> None:
    """Show where a run stands."""
    if watch + json + log > 1:
        raise typer.BadParameter("give one of --watch, --json and --log")
    from pyscale.progress import statusview

    statusview.show(run, watch=watch, as_json=json, log=log)


@app.command(**helped("pyscale cancel latest"))
def cancel(run: str | None = RUN) -> None:
    """End a run and everything that it started.

    `pyscale resume RUN` finishes it later.
    """
    from pyscale.commands import running

    running.cancel(run)


app.command(**helped("pyscale report", "pyscale report --table times.csv --out report"))(report)
app.command(**helped("pyscale compare k3f9 latest"))(compare)
app.command(**helped("pyscale advise", "pyscale advise k3f9 --as nextflow"))(advise)
app.command(
    "import", **helped("pyscale import sacct jobs.txt --workers 8 --stage segment --out times.csv")
)(import_traces)


@app.command(**helped("pyscale hardware"))
def hardware(json: bool = JSON) -> None:
    """Show what this machine is.

    Every result records it.
    """
    from pyscale.commands import listings

    listings.show_hardware(as_json=json)


@app.command(**helped("pyscale doctor", "pyscale doctor --suite device --device cuda"))
def doctor(
    suite: str = option("SUITE", "Suite to run.", default="pipeline"),
    device: str | None = option("[cpu|cuda|mps]", "Device to compute on."),
    json: bool = JSON,
) -> None:
    """Check what can run here, and what is missing.

    Names the line that would install it. The exit code is 1 where a run would fail.
    """
    from pyscale.doctor import command

    raise typer.Exit(command.doctor(suite, device=device, as_json=json))


@config_app.command("show", **helped("pyscale config show --json"))
def config_show(json: bool = JSON) -> None:
    """Show every setting and where it comes from."""
    from pyscale.commands import listings

    listings.show_settings(as_json=json)


@config_app.command("init", **helped("pyscale config init"))
def config_init() -> None:
    """Write a pyscale.toml to edit.

    It has every setting as a comment, with its meaning and default.
    """
    from pyscale.commands import listings

    listings.write_settings()


app.add_typer(data_app, name="data")
app.add_typer(image_app, name="image")
app.add_typer(reference_app, name="reference")
app.add_typer(config_app, name="config")


def main() -> None:
    """Run the command line; an error that a user can act on is one sentence.

    Exit codes: 2 for the user's mistakes, 3 where memory or the disk ran out, 130 after Ctrl-C,
    a closed terminal and a polite kill.
    """
    from pyscale.interruption import termination_as_interrupt

    try:
        with termination_as_interrupt():
            app()
    except SystemExit as end:
        # So Typer answers Ctrl-C, without a word.
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            sys.exit(_said("interrupted", 130))
        raise
    except BrokenPipeError:
        # The reader of our output, like `head`, has seen enough.
        # At its end Python would complain on it about output that it cannot flush.
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
            sys.exit(_said(f"error: a path is not UTF-8, as those in records must be: {remedy}", 2))
        known = as_stage_error(raised)
        if isinstance(raised, ModuleNotFoundError) and not f"{raised.name}".startswith("pyscale"):
            remedy = "install pyscale with all that it needs; what was measured is kept"
            sys.exit(_said(f"error: the library {raised.name} is not installed: {remedy}", 2))
        if known is None:
            raise
        sys.exit(_said(f"error: {known}", known.exit_code))


def _said(sentence: str, exit_code: int) -> int:
    from pyscale.console import harmless

    print(harmless(sentence), file=sys.stderr)  # noqa: T201 - talk goes to stderr
    return exit_code

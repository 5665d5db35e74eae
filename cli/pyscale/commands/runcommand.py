"""The command `pyscale run` and its options."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

import typer

from pyscale.commandhelp import argument, option, switch

TYPES = {None: bool, "N": int, "PATH": Path, "DIR": Path, "BASE": Path}
"""Types of options by what they take; all others take a text, and None is a switch."""
REPEATED = {"only", "grid", "parameters"}
"""Options that may be given several times."""


OPTIONS: dict[str, dict[str, Any]] = {
    "What to measure": {
        "data": option("NAME|PATH", "Dataset (see pyscale data list), or path of a movie."),
        "truth": option(
            "PATH",
            "Truth of the movie: a Cell Tracking Challenge folder, label images, or TrackMate XML.",
        ),
        "only": option("STAGE", "Measure this stage alone; repeatable."),
        "grid": option("AXIS=V1,V2", "Values of one axis of the suite's grid; repeatable."),
        "parameters": option(
            "NAME=VALUE",
            "Parameter of a stage, as in segment.diameter_px=30, or one of chunks_per_worker, "
            "keep_outputs, path, retries, seed and unlocked_images (see pyscale config show), as "
            "in seed=3; repeatable.",
            "--set",
        ),
        "with_system": option(None, "Measure the node too, in brief."),
    },
    "What of the files is the movie": {
        "axes": option("TYX", "Axes, where the file does not say them."),
        "frames": option("A:B", "Frames A to B-1, or the first K."),
        "channel": option("NAME", "Read this channel alone, by name or number."),
        "series": option("N", "Image of a file with several, as of positions."),
        "project": option("", "Project the planes of a Z-stack."),
        "plane": option("N", "Take one plane of a Z-stack."),
        "pattern": option("GLOB", "Names of a folder's frames, as in 'img_*.tif'."),
        "level": option("N", "Resolution level of an OME-Zarr."),
    },
    "A step of your own": {
        "step": option(
            "COMMAND",
            "Measure a command of your own in place of a suite, as in 'python segment.py {input} "
            "{output}'.",
        ),
        "output": option(
            "NAME",
            "Name of what it writes; without an ending, a folder.",
            show_default="output.tif, or a folder for --split files",
        ),
        "split": option(
            "frames|files|tiles|threads|ranks|none",
            "Workers share frames, files or tiles, or are threads, ranks or copies (none).",
            show_default="frames",
        ),
        "merge": option(
            "HOW",
            "Join outputs as frames, tables or folder, or by a command with {inputs} and {output}.",
            show_default="by the ending of the output",
        ),
        "check": option(
            "HOW",
            "Compare outputs with the baseline's: equal, labels, none, or a command with "
            "{reference} and {other}.",
            show_default="equal",
        ),
        "environment": option("DIR", "Prefix of the conda or virtual environment that it runs in."),
        "image": option("SIF", "Image that it runs in."),
        "shell": option(None, "Let sh run it, for pipes."),
    },
    "How to measure it": {
        "workers": option(
            "N,N",
            "Worker counts N, as in 1,2,4.",
            show_default="1,2,4 and so on up to the cores here, or 8 on a cluster",
        ),
        "repeats": option("N", "Trials of each configuration; six give an interval."),
        "at_most": option(
            "TIME",
            "In place of --repeats: trials of each as often as fits into 5min or 2h, twice at "
            "least.",
        ),
        "until": option(
            "PERCENT",
            "With --at-most: end as soon as 95 % intervals of speedups are within 5% of them.",
        ),
        "scaling": option("", "N workers share the movie, or it grows with N."),
        "cache": option("", "Page cache of the inputs before each trial."),
        "device": option("", "Device; several with commas where the suite compares them."),
        "cpus_per_worker": option("N", "Cores of each worker."),
    },
    "Where tasks run": {
        "executor": option("", "This machine, or a cluster with Slurm."),
        "site": option("SITE", "Cluster: a shipped name, or your .toml."),
        "runtime": option("", "Tasks start in this environment, or in images."),
    },
    "Course of the run": {
        "dry_run": option(
            None, "Show what would run and cost, and what is missing; only absent data is fetched."
        ),
        "verbose": option(None, "Also print the report's tables.", "-v", "--verbose"),
        "emit": option("DIR", "Write batch scripts that need no pyscale; run nothing."),
        "detach": option(None, "Return at once; follow with status."),
        "accept_terms": option(None, "Agree to the dataset's terms."),
        "strict": option(
            None, "Exit code 1 where an output differs from the baseline's, or workers took turns."
        ),
    },
}
"""Options by their group in the help."""


def _parameters() -> Iterator[Parameter]:
    """The argument and the options, as Typer reads them from a function."""
    text = "Suite (see pyscale suites), or the path of a .toml of your own."
    declared: dict[str, tuple[Any, Any]] = {"suite": (str, argument(None, text))}
    for heading, options in OPTIONS.items():
        for name, info in options.items():
            kind: Any = TYPES.get(info.metavar, str)
            info.param_decls = info.param_decls or (f"--{name.replace('_', '-')}",)
            info.metavar, info.rich_help_panel = info.metavar or None, heading
            declared[name] = (list[kind] if name in REPEATED else kind, info)
    for name, (kind, info) in declared.items():
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=info, annotation=kind | None)


def run(**given: Any) -> None:
    """Measure a suite on a movie, and report."""
    from pyscale.commands import running
    from pyscale.planning.runsettings import axes_asked_for, step_asked_for, what_is_set
    from pyscale.settings import Settings
    from pyscale_stages.command.params import CommandParams

    flags = {name: given[name] for name in Settings.model_fields if name in given}
    flags |= {
        "grid": axes_asked_for(given["grid"] or []),
        **what_is_set(given["parameters"] or []),
    }
    of_step = {name: given[name] for name in CommandParams.model_fields if name in given}
    course = running.Course(*(bool(given[name]) for name in running.Course._fields))
    accept_terms, only = bool(given["accept_terms"]), given["only"] or []
    chosen = step_asked_for(given["suite"], given["step"], of_step)
    if given["emit"] is not None:
        if given["dry_run"] or course.detach or course.strict or given["at_most"]:
            raise typer.BadParameter(
                "--emit runs nothing: leave out --dry-run, --detach, --strict and --at-most"
            )
        from pyscale.commands.emitting import emit

        emit(chosen, flags, only, given["emit"], accept_terms=accept_terms)
        return
    asked = {"accept_terms": accept_terms, "dry_run": bool(given["dry_run"])}
    raise typer.Exit(running.start(chosen, flags, only, course, **asked))


RUN = argument("RUN", "Id, unique start or end of one, latest, or folder.", default=...)
REPEATS = option("N", "Trials of each configuration, those that are there too.", default=...)
DETACH = switch("--detach", OPTIONS["Course of the run"]["detach"].help)
STRICT = switch("--strict", OPTIONS["Course of the run"]["strict"].help)
VERBOSE = typer.Option(False, "-v", "--verbose", help="Also print the report's tables.")


def resume(
    run: str = RUN,
    detach: bool = DETACH,
    strict: bool = STRICT,
    verbose: bool = VERBOSE,
) -> None:
    """Finish an interrupted run.

    Only what is missing is measured, nothing twice.
    """
    from pyscale.commands import running

    raise typer.Exit(running.resume(run, running.Course(detach, strict, verbose)))


def extend(
    run: str = RUN,
    repeats: int = REPEATS,
    detach: bool = DETACH,
    strict: bool = STRICT,
    verbose: bool = VERBOSE,
) -> None:
    """Add trials to a run.

    They are measured now, and what else it misses too.
    """
    from pyscale.commands import running

    raise typer.Exit(running.extend(run, repeats, running.Course(detach, strict, verbose)))


run.__signature__ = Signature([*_parameters()])  # type: ignore[attr-defined]

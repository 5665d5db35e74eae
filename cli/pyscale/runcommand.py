"""The command `pyscale run` and its options."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

ASKED_BY = {"suite": "suite", "stages": "--set"}
"""How what is not a flag of its own name is asked for."""
NEW_RUN = (
    *("suite", "only", "accept_terms", "dry_run", "emit_sbatch"),
    *("step", "snakemake", "nextflow", "sweep"),
)
"""What has no meaning for a run that is resumed or extended, beside settings and keys of a step."""
TYPES = {None: bool, "N": int, "PATH": Path, "DIR": Path, "BASE": Path}
"""Types of options by what they take; all others take a text, and None is a switch."""


class Option(NamedTuple):
    """An option that is None where it is not given."""

    name: str
    takes: str | None
    """Empty where it is what the setting of that name takes."""
    help: str
    show_default: str | bool = True
    flags: tuple[str, ...] = ()
    repeatable: bool = False


OPTIONS = {
    "What to measure": (
        Option("data", "NAME|PATH", "Dataset (see pyscale data list), or path of a movie."),
        Option(
            "truth",
            "PATH",
            "Truth of the movie: a Cell Tracking Challenge folder, label images, or TrackMate XML.",
        ),
        Option("axes", "TYX", "Axes of the movie, where its file is silent."),
        Option("only", "STAGE", "Measure this stage alone; repeatable.", repeatable=True),
        Option("sizes", "PX,PX", "Crops of a suite that compares them, as in 224,448,full."),
        Option(
            "grid",
            "AXIS=V1,V2",
            "Values of one axis of the suite's grid; repeatable.",
            repeatable=True,
        ),
        Option(
            "parameters",
            "STAGE.PARAM=VALUE",
            "Parameter of a stage, as in segment.diameter_px=30; repeatable.",
            flags=("--set",),
            repeatable=True,
        ),
        Option(
            "against",
            "BASE",
            "Measure another version of the stages too, pair by pair, and compare: a Python "
            "environment, a folder of images, or a .toml of parameters.",
        ),
        Option("with_system", None, "Measure the node too, in brief."),
        Option(
            "path",
            "DIR",
            "Folder whose storage a test of the machine measures.",
            show_default="that of the runs",
        ),
    ),
    "A step of your own": (
        Option(
            "step",
            "COMMAND",
            "Measure a command of your own in place of a suite, as in 'python segment.py {input} "
            "{output} --frames {first}:{stop}'.",
        ),
        Option(
            "output",
            "NAME",
            "Name of what it writes; without an ending, a folder.",
            show_default="output.tif, or a folder for --split files",
        ),
        Option(
            "split",
            "frames|files|tiles|threads|ranks|none",
            "Workers share frames, files or tiles, or are threads, ranks or copies (none).",
            show_default="frames",
        ),
        Option(
            "merge",
            "HOW",
            "Join outputs as frames, tables or folder, or by a command with {inputs} and {output}.",
            show_default="by the ending of the output",
        ),
        Option(
            "check",
            "HOW",
            "Compare outputs with the baseline's: equal, labels, none, or a command with "
            "{reference} and {other}.",
            show_default="equal",
        ),
        Option("environment", "DIR", "Prefix of the conda or virtual environment that it runs in."),
        Option("image", "SIF", "Image that it runs in."),
        Option("shell", None, "Let sh run it, for pipes."),
    ),
    "A whole workflow of your own": (
        Option(
            "snakemake",
            "SNAKEFILE",
            "Measure a workflow of your own, as in 'Snakefile --config movie={input}'.",
        ),
        Option("nextflow", "SCRIPT", "The same, as in 'main.nf --movie {input}'."),
        Option(
            "sweep",
            "KEY=N,N",
            "What of it N is, and its values, as in cores=1,2,4 or process.maxForks=1,2,4.",
        ),
    ),
    "How to measure it": (
        Option(
            "workers",
            "N,N",
            "Worker counts N, as in 1,2,4.",
            show_default="1,2,4 and so on up to the cores here, or 8 on a cluster",
        ),
        Option("repeats", "N", "Trials of each configuration; six give an interval."),
        Option("scaling", "", "N workers share the movie, or it grows with N."),
        Option("cache", "", "Page cache of the inputs before each trial."),
        Option("device", "", "Device; several with commas where the suite compares them."),
        Option("cpus_per_worker", "N", "Cores of each worker."),
        Option(
            "start",
            "cold|warm",
            "A new process for each window, or warm workers that are kept; both with a comma.",
            show_default="cold",
        ),
        Option("chunks_per_worker", "N", "Windows of each worker, one after the other."),
        Option("seed", "N", "Seed of the order of trials and of the stages.", show_default="0"),
    ),
    "Where tasks run": (
        Option("executor", "", "This machine, or a cluster with Slurm."),
        Option("site", "SITE", "Cluster: a shipped name, or your .toml."),
        Option(
            "layout",
            "",
            "Slurm starts workers as an array of jobs, or all in one job.",
            show_default="the suite's",
        ),
        Option(
            "allocation",
            "",
            "Hold one Slurm job for all trials, or submit jobs for each.",
            show_default="hold",
        ),
        Option("every_node", None, "Measure each node of the site's partition, all at once."),
        Option("runtime", "", "Tasks start in this environment, or in images."),
        Option("unlocked_images", None, "Run images that images.lock does not name."),
    ),
    "Course of the run": (
        Option(
            "dry_run",
            None,
            "Show what would run and cost, and what is missing; only absent data is fetched.",
        ),
        Option(
            "verbose",
            None,
            "Also print the table of factors, or every trial of a dry run.",
            flags=("-v", "--verbose"),
        ),
        Option("emit_sbatch", "DIR", "Write batch scripts; run nothing."),
        Option("detach", None, "Return at once; follow with status."),
        Option("resume", "RUN", "Finish this run."),
        Option(
            "extend",
            "RUN",
            "Add trials to this run, by --repeats and --workers, and measure them.",
        ),
        Option("retries", "N", "Retries per failed trial."),
        Option("keep_outputs", "", "Outputs to keep: the baseline's, or all."),
        Option("accept_terms", None, "Agree to the dataset's terms."),
        Option("strict", None, "Exit code 1 where an output differs from the baseline's."),
    ),
}
"""Options by their group in the help."""


def _parameters() -> Iterator[Parameter]:
    """The argument and the options, as Typer reads them from a function."""
    text = "Suite (see pyscale suites), or the path of a .toml of your own."
    declared: dict[str, tuple[Any, Any]] = {"suite": (str, typer.Argument(help=text))}
    for group, options in OPTIONS.items():
        for one in options:
            kind: Any = TYPES.get(one.takes, str)
            declared[one.name] = (
                list[kind] if one.repeatable else kind,
                typer.Option(
                    *(one.flags or [f"--{one.name.replace('_', '-')}"]),
                    metavar=one.takes or None,
                    help=one.help,
                    show_default=one.show_default,
                    rich_help_panel=group,
                ),
            )
    for name, (kind, info) in declared.items():
        wanted = Annotated[kind | None, info]
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=wanted)


def run(**given: Any) -> None:
    """Measure a suite on a movie, and report."""
    from pyscale import ownstep, running
    from pyscale.runsettings import axes_asked_for, parameters_set
    from pyscale.settings import Settings
    from pyscale_stages.command.params import CommandParams

    flags = {name: given[name] for name in Settings.model_fields if name in given}
    flags |= {
        "grid": axes_asked_for(given["sizes"], given["grid"] or []),
        "stages": parameters_set(given["parameters"] or []),
    }
    of_step = {name: given[name] for name in CommandParams.model_fields if name in given}
    course = {name: bool(given[name]) for name in ("detach", "strict", "verbose")}
    accept_terms, only = bool(given["accept_terms"]), given["only"] or []
    resume, extend, emit_sbatch = given["resume"], given["extend"], given["emit_sbatch"]
    if earlier := resume or extend:
        others = {name: given[name] for name in NEW_RUN} | of_step
        others |= {"extend": resume and extend}
        own = () if resume else ("repeats", "workers")
        named = [name for name, value in (flags | others).items() if value and name not in own]
        refused = [ASKED_BY.get(name, f"--{name.replace('_', '-')}") for name in named]
        if resume:
            raise typer.Exit(running.resume(resume, refused=refused, **course))
        repeats, workers = given["repeats"], given["workers"]
        raise typer.Exit(running.extend(earlier, repeats, workers, refused=refused, **course))
    found = ownstep.workflow_asked_for(given, of_step)
    if found is not None:
        chosen: Any = found[0]
        flags["workers"] = found[1] or given["workers"]
    else:
        chosen = ownstep.step_asked_for(given["suite"], given["step"], of_step)
    if emit_sbatch is not None:
        if given["dry_run"] or course["detach"] or course["strict"]:
            raise typer.BadParameter(
                "--emit-sbatch runs nothing: leave out --dry-run, --detach and --strict"
            )
        from pyscale.sbatch.emit import emit

        emit(chosen, flags, only, emit_sbatch, accept_terms=accept_terms)
        return
    course |= {"accept_terms": accept_terms, "dry_run": bool(given["dry_run"])}
    raise typer.Exit(running.start(chosen, flags, only, **course))


run.__signature__ = Signature([*_parameters()])  # type: ignore[attr-defined]

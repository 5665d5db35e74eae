"""The command `pyscale run` and its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

MEASURED = "What to measure"
STEP = "A step of your own"
WORKFLOW = "A whole workflow of your own"
HOW = "How to measure it"
WHERE = "Where tasks run"
COURSE = "Course of the run"
ASKED_BY = {"suite": "suite", "stages": "--set"}
"""How what is not a flag of its own name is asked for."""


def _option(group: str, text: str, takes: str | None = None, *, show_default: str = "") -> Any:
    """An option of a group; what it takes is that of the setting where none is given."""
    return typer.Option(
        metavar=takes, help=text, show_default=show_default or True, rich_help_panel=group
    )


def _switch(group: str, text: str, *names: str) -> Any:
    """An option of a group that takes nothing."""
    return typer.Option(*names, help=text, rich_help_panel=group)


def run(
    suite: Annotated[
        str | None,
        typer.Argument(help="Suite (see pyscale suites), or the path of a .toml of your own."),
    ] = None,
    data: Annotated[
        str | None,
        _option(MEASURED, "Dataset (see pyscale data list), or path of a movie.", "NAME|PATH"),
    ] = None,
    truth: Annotated[
        Path | None,
        _option(
            MEASURED,
            "Truth of the movie: a Cell Tracking Challenge folder, label images, or TrackMate XML.",
            "PATH",
        ),
    ] = None,
    axes: Annotated[
        str | None, _option(MEASURED, "Axes of the movie, where its file is silent.", "TYX")
    ] = None,
    only: Annotated[
        list[str] | None, _option(MEASURED, "Measure this stage alone; repeatable.", "STAGE")
    ] = None,
    sizes: Annotated[
        str | None,
        _option(MEASURED, "Crops of a suite that compares them, as in 224,448,full.", "PX,PX"),
    ] = None,
    grid: Annotated[
        list[str] | None,
        _option(MEASURED, "Values of one axis of the suite's grid; repeatable.", "AXIS=V1,V2"),
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="STAGE.PARAM=VALUE",
            help="Parameter of a stage, as in segment.diameter_px=30; repeatable.",
            rich_help_panel=MEASURED,
        ),
    ] = None,
    against: Annotated[
        Path | None,
        _option(
            MEASURED,
            "Measure another version of the stages too, pair by pair, and compare: a Python "
            "environment, a folder of images, or a .toml of parameters.",
            "BASE",
        ),
    ] = None,
    with_system: Annotated[
        bool | None, _switch(MEASURED, "Measure the node too, in brief.", "--with-system")
    ] = None,
    path: Annotated[
        Path | None,
        _option(
            MEASURED,
            "Folder whose storage a test of the machine measures.",
            "DIR",
            show_default="that of the runs",
        ),
    ] = None,
    step: Annotated[
        str | None,
        _option(
            STEP,
            "Measure a command of your own in place of a suite, as in 'python segment.py {input} "
            "{output} --frames {first}:{stop}'.",
            "COMMAND",
        ),
    ] = None,
    output: Annotated[
        str | None,
        _option(
            STEP,
            "Name of what it writes; without an ending, a folder.",
            "NAME",
            show_default="output.tif, or a folder for --split files",
        ),
    ] = None,
    split: Annotated[
        str | None,
        _option(
            STEP,
            "Workers share frames, files or tiles, or are threads, ranks or copies (none).",
            "frames|files|tiles|threads|ranks|none",
            show_default="frames",
        ),
    ] = None,
    merge: Annotated[
        str | None,
        _option(
            STEP,
            "Join outputs as frames, tables or folder, or by a command with {inputs} and {output}.",
            "HOW",
            show_default="by the ending of the output",
        ),
    ] = None,
    check: Annotated[
        str | None,
        _option(
            STEP,
            "Compare outputs with the baseline's: equal, labels, none, or a command with "
            "{reference} and {other}.",
            "HOW",
            show_default="equal",
        ),
    ] = None,
    environment: Annotated[
        Path | None,
        _option(STEP, "Prefix of the conda or virtual environment that it runs in.", "DIR"),
    ] = None,
    image: Annotated[str | None, _option(STEP, "Image that it runs in.", "SIF")] = None,
    shell: Annotated[bool | None, _switch(STEP, "Let sh run it, for pipes.", "--shell")] = None,
    snakemake: Annotated[
        str | None,
        _option(
            WORKFLOW,
            "Measure a workflow of your own, as in 'Snakefile --config movie={input}'.",
            "SNAKEFILE",
        ),
    ] = None,
    nextflow: Annotated[
        str | None,
        _option(WORKFLOW, "The same, as in 'main.nf --movie {input}'.", "SCRIPT"),
    ] = None,
    sweep: Annotated[
        str | None,
        _option(
            WORKFLOW,
            "What of it N is, and its values, as in cores=1,2,4 or process.maxForks=1,2,4.",
            "KEY=N,N",
        ),
    ] = None,
    workers: Annotated[
        str | None,
        _option(
            HOW,
            "Worker counts N, as in 1,2,4.",
            "N,N",
            show_default="1,2,4 and so on up to the cores here, or 8 on a cluster",
        ),
    ] = None,
    repeats: Annotated[
        int | None, _option(HOW, "Trials of each configuration; six give an interval.", "N")
    ] = None,
    scaling: Annotated[
        str | None, _option(HOW, "N workers share the movie, or it grows with N.")
    ] = None,
    cache: Annotated[
        str | None, _option(HOW, "Page cache of the inputs before each trial.")
    ] = None,
    device: Annotated[
        str | None,
        _option(HOW, "Device; several with commas where the suite compares them."),
    ] = None,
    cpus_per_worker: Annotated[int | None, _option(HOW, "Cores of each worker.", "N")] = None,
    start: Annotated[
        str | None,
        _option(
            HOW,
            "A new process for each window, or warm workers that are kept; both with a comma.",
            "cold|warm",
            show_default="cold",
        ),
    ] = None,
    chunks_per_worker: Annotated[
        int | None, _option(HOW, "Windows of each worker, one after the other.", "N")
    ] = None,
    seed: Annotated[
        int | None,
        _option(HOW, "Seed of the order of trials and of the stages.", "N", show_default="0"),
    ] = None,
    executor: Annotated[
        str | None, _option(WHERE, "This machine, or a cluster with Slurm.")
    ] = None,
    site: Annotated[
        str | None, _option(WHERE, "Cluster: a shipped name, or your .toml.", "SITE")
    ] = None,
    layout: Annotated[
        str | None,
        _option(
            WHERE,
            "Slurm starts workers as an array of jobs, or all in one job.",
            show_default="the suite's",
        ),
    ] = None,
    allocation: Annotated[
        str | None,
        _option(
            WHERE,
            "Hold one Slurm job for all trials, or submit jobs for each.",
            show_default="hold",
        ),
    ] = None,
    every_node: Annotated[
        bool | None,
        _switch(WHERE, "Measure each node of the site's partition, all at once.", "--every-node"),
    ] = None,
    runtime: Annotated[
        str | None, _option(WHERE, "Tasks start in this environment, or in images.")
    ] = None,
    unlocked_images: Annotated[
        bool | None,
        _switch(WHERE, "Run images that images.lock does not name.", "--unlocked-images"),
    ] = None,
    dry_run: Annotated[
        bool,
        _switch(
            COURSE,
            "Show what would run and cost, and what is missing; only absent data is fetched.",
            "--dry-run",
        ),
    ] = False,
    verbose: Annotated[
        bool,
        _switch(
            COURSE,
            "Also print the table of factors, or every trial of a dry run.",
            "-v",
            "--verbose",
        ),
    ] = False,
    emit_sbatch: Annotated[
        Path | None, _option(COURSE, "Write batch scripts; run nothing.", "DIR")
    ] = None,
    detach: Annotated[
        bool, _switch(COURSE, "Return at once; follow with status.", "--detach")
    ] = False,
    resume: Annotated[str | None, _option(COURSE, "Finish this run.", "RUN")] = None,
    extend: Annotated[
        str | None,
        _option(
            COURSE, "Add trials to this run, by --repeats and --workers, and measure them.", "RUN"
        ),
    ] = None,
    retries: Annotated[int | None, _option(COURSE, "Retries per failed trial.", "N")] = None,
    keep_outputs: Annotated[
        str | None, _option(COURSE, "Outputs to keep: the baseline's, or all.")
    ] = None,
    accept_terms: Annotated[
        bool, _switch(COURSE, "Agree to the dataset's terms.", "--accept-terms")
    ] = False,
    strict: Annotated[
        bool,
        _switch(COURSE, "Exit code 1 where an output differs from the baseline's.", "--strict"),
    ] = False,
) -> None:
    """Measure a suite on a movie, and report."""
    given = locals()

    from pyscale import ownstep, ownworkflow, running
    from pyscale.runsettings import axes_asked_for, parameters_set
    from pyscale.settings import Settings
    from pyscale_stages.command.params import CommandParams

    flags = {name: given[name] for name in Settings.model_fields if name in given}
    flags |= {
        "grid": axes_asked_for(sizes, grid or []),
        "stages": parameters_set(parameters or []),
    }
    of_step = {name: given[name] for name in CommandParams.model_fields if name in given}
    course = {"detach": detach, "strict": strict, "verbose": verbose}
    workflow = ownworkflow.Asked(snakemake, nextflow, sweep)
    earlier = resume or extend
    if earlier is not None:
        others = {
            "suite": suite,
            "only": only,
            "accept_terms": accept_terms,
            "dry_run": dry_run,
            "emit_sbatch": emit_sbatch,
            "step": step,
            **of_step,
            **workflow.flags,
            "extend": resume and extend,
        }
        own = () if resume else ("repeats", "workers")
        named = [name for name, value in (flags | others).items() if value and name not in own]
        refused = [ASKED_BY.get(name, f"--{name.replace('_', '-')}") for name in named]
        if resume is not None:
            raise typer.Exit(running.resume(resume, refused=refused, **course))
        raise typer.Exit(running.extend(earlier, repeats, workers, refused=refused, **course))
    others = {"suite": suite, "step": step, "data": data, "workers": workers}
    found = ownworkflow.suite_asked_for(workflow, others, of_step)
    if found is not None:
        chosen: Any = found[0]
        flags["workers"] = found[1] or workers
    else:
        chosen = ownstep.suite_asked_for(suite, step, of_step)
    if emit_sbatch is not None:
        if dry_run or detach or strict:
            raise typer.BadParameter(
                "--emit-sbatch runs nothing: leave out --dry-run, --detach and --strict"
            )
        from pyscale.sbatch.emit import emit

        emit(chosen, flags, only or [], emit_sbatch, accept_terms=accept_terms)
        return
    raise typer.Exit(
        running.start(
            chosen, flags, only or [], accept_terms=accept_terms, dry_run=dry_run, **course
        )
    )

"""A step or a whole workflow of the user's own on the command line: a suite of one entry."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyscale.errors import UserError, problems_told
from pyscale.planning.suite import OF_STEPS, OWN_STEP, Suite, SuiteStage, in_its_folder
from pyscale_stages.command.params import CommandParams
from pyscale_stages.wording import did_you_mean

STEP = "step"
"""The suite of a step, and its only entry."""
WORKFLOW = "workflow"
"""The only entry of the suite of a workflow, which has the name of the engine."""
PROGRAM = "pyscale.measuring.workflowtrial"
"""What runs a workflow once."""
PLACES = ("{threads}", "{input}", "{output}")
"""What that program is told of each trial."""
OF_STEP = ("output", "check", "environment")
"""What of a step a workflow can be given too."""
RESULTS = "results"
"""Folder that most workflows write to, by the conventions of both engines."""


@dataclass(frozen=True)
class Engine:
    """A program that runs workflows."""

    title: str
    keys: tuple[str, ...]
    """What of it N may be."""
    install: str
    refused: Mapping[str, str]
    """Options that would spoil trials, and why."""


ENGINES = {
    "snakemake": Engine(
        "Snakemake",
        ("cores",),
        "`pip install snakemake`",
        {"--directory": "each trial has a work directory of its own"},
    ),
    "nextflow": Engine(
        "Nextflow",
        ("process.maxForks", "process.cpus", "executor.cpus", "executor.queueSize"),
        "`conda install bioconda::nextflow`; it needs Java 17 or newer",
        {
            "-resume": "a trial would skip what an earlier one did",
            "-work-dir": "each trial has a work directory of its own",
            "-w": "each trial has a work directory of its own",
        },
    ),
}


def step_asked_for(
    suite: str | None, step: str | None, keys: Mapping[str, Any]
) -> str | Suite | None:
    """What is to be measured: a suite by its name or path, or a step of the user's own."""
    given = _given(keys)
    if step is None:
        if given:
            flags = " and ".join(f"--{name}" for name in given)
            raise UserError(f"{flags}: that is said of a step; give its command by --step")
        return suite
    if suite is not None:
        raise UserError(f"--step is measured by itself, so leave out the suite {suite}")
    entry = _entry("step", step, {"command": step, **given})
    data = given["split"] if given.get("split") in OF_STEPS else "movie"
    found = Suite(name=STEP, summary="A step of one's own", data=data, stages={STEP: entry})
    return in_its_folder(found, Path.cwd())


def workflow_asked_for(
    asked: Mapping[str, Any], of_step: Mapping[str, Any]
) -> tuple[Suite, str | None] | None:
    """The suite that measures a workflow, and its values of N; None where none was named."""
    engines = [name for name in ENGINES if asked[name] is not None]
    if not engines and asked["sweep"] is None:
        return None
    if len(engines) != 1:
        raise UserError("--sweep is of one workflow: name it by --snakemake or --nextflow")
    (engine,) = engines
    for name in ("suite", "step"):
        if asked[name] is not None:
            raise UserError(f"--{engine} is measured by itself, so leave out the {name}")
    if asked["data"] is None:
        raise UserError(
            f"--{engine} needs --data: name the file or folder that the workflow reads, so that "
            "every trial finds its page cache in the same state"
        )
    key, equals, values = (asked["sweep"] or ENGINES[engine].keys[0]).partition("=")
    if key not in ENGINES[engine].keys:
        raise UserError(
            f"--sweep {key}: N cannot be that of {ENGINES[engine].title}; "
            f"{did_you_mean(key, ENGINES[engine].keys)}"
        )
    if equals and not values:
        raise UserError(f"--sweep {key}= has no values: write them as in {key}=1,2,4")
    if values and asked["workers"] is not None:
        raise UserError("--sweep and --workers both say what N is: leave one of them out")
    return _suite(engine, str(asked[engine]), key, of_step), values or None


def _suite(engine: str, told: str, key: str, of_step: Mapping[str, Any]) -> Suite:
    given = _given(of_step)
    for name in sorted(given.keys() - OF_STEP):
        raise UserError(f"--{name} is of a step, not of a workflow: leave it out")
    file, words = _file_and_words(engine, told)
    _refuse_absent(engine, given.get("environment"))
    command = [sys.executable, "-m", PROGRAM, engine, str(file), key, *PLACES, *words]
    keys = {"command": command, "split": "threads", "output": RESULTS, **given}
    entry = _entry(engine, told, keys)
    summary = f"The workflow {file.name} over {key}"
    return in_its_folder(Suite(name=engine, summary=summary, stages={WORKFLOW: entry}), Path.cwd())


def _given(keys: Mapping[str, Any]) -> dict[str, Any]:
    """What was said of a step, paths as text."""
    said = {name: value for name, value in keys.items() if value is not None}
    return {name: str(value) if isinstance(value, Path) else value for name, value in said.items()}


def _entry(flag: str, told: str, keys: Mapping[str, Any]) -> SuiteStage:
    """The only entry, by its keys; its command was `told` by a flag."""
    with problems_told(CommandParams, f"--{flag}: "):
        entry = SuiteStage.model_validate(keys)
        # Parameters of the user's own program are set later, and planning looks at them.
        later = dict.fromkeys(re.findall(r"\{params\.(\w+)\}", told), "")
        # One in a registry is a file from when it is pulled.
        here = {k: v for k, v in entry.params.items() if k != "image" or "://" not in str(v)}
        CommandParams.model_validate({**later, **here})
    return entry


def _refuse_absent(engine: str, environment: str | None) -> None:
    """Raise where there is no such engine on this machine."""
    path = os.environ.get("PATH", os.defpath)
    if environment is not None:
        path = f"{Path(environment).expanduser() / 'bin'}{os.pathsep}{path}"
    if shutil.which(engine, path=path) is None:
        raise UserError(
            f"{engine} is not found on this machine: install it ({ENGINES[engine].install}), or "
            "name the environment that has it by --environment"
        )


def words_for(suite: Suite) -> list[str] | None:
    """Words of the command line that ask for a suite again; None where it is of neither kind."""
    if [*suite.stages] == [STEP] and suite.name == STEP and suite.stage_name(STEP) == OWN_STEP:
        params = suite.stages[STEP].params
        params = {**params, "image": params.get("pulled_from", params.get("image"))}
        words = ["--step", str(params["command"])]
        keys: tuple[str, ...] = ("output", "split", "merge", "check", "environment", "image")
    elif [*suite.stages] == [WORKFLOW] and suite.name in ENGINES:
        params, keys = suite.stages[WORKFLOW].params, OF_STEP
        command = params["command"]
        assert isinstance(command, list | tuple)
        _, _, _, engine, file, key, *more = map(str, command)
        words = [f"--{engine}", shlex.join([file, *more[len(PLACES) :]]), "--sweep", key]
    else:
        return None
    for name in keys:
        words += [f"--{name}", str(params[name])] if params.get(name) is not None else []
    return [*words, *(["--shell"] if params.get("shell") else [])]


def _file_and_words(engine: str, told: str) -> tuple[Path, list[str]]:
    """The workflow's file, and words for its engine."""
    if Path(told).expanduser().is_file():
        # The path of a file may hold blanks, by which it must not be split.
        first, words = told, []
    else:
        try:
            first, *words = shlex.split(told) or [""]
        except ValueError as error:
            raise UserError(f"--{engine} {told!r} cannot be split into words: {error}") from None
    file = Path(first).expanduser()
    if not first or not file.is_file():
        what = "is a folder" if first and file.is_dir() else "does not exist"
        raise UserError(f"--{engine} {first!r} {what}: name the file of the workflow")
    for word in words:
        why = ENGINES[engine].refused.get(word)
        if why is not None:
            raise UserError(f"--{engine} has {word}, but {why}: leave it out")
    return file.absolute(), words

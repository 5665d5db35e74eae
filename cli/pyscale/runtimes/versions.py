"""The versions of a plan's stages: asked before a run begins, and the same until it ends."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from pyscale.errors import UserError
from pyscale.images.engine import PREFIX, find_engine
from pyscale.planning.plan import Identity, Plan, Trial
from pyscale.processes import ran
from pyscale.runtimes import identity
from pyscale_stages.binds import OPTIONS
from pyscale_stages.contract import Stage, TaskResult
from pyscale_stages.libraries import top_level
from pyscale_stages.registry import load_stage

READABLE = TaskResult.model_fields["schema_version"].default
"""Version of the records that this pyscale reads."""


class _Answer(NamedTuple):
    parameters: frozenset[str]
    identity: Identity


def file_of(trial: Trial) -> Path | None:
    """Interpreter or image file of a trial that runs a version of its own."""
    if trial.interpreter is not None:
        return trial.interpreter
    return Path(trial.image) if trial.image is not None and os.sep in trial.image else None


def fitted_to_versions(plan: Plan) -> Plan:
    """Ask each version of a plan whether it can run its trials, and keep to what it knows.

    Parameters that a version does not know are left out of its trials where the run has their
    default. A UserError says that it cannot run a stage, has another contract, or lacks a parameter
    that the run sets; a MissingPart that it is an image and this machine has no container program.
    """
    answers: dict[tuple[Path, str], _Answer] = {}
    trials = []
    for trial in plan.trials:
        file = file_of(trial)
        if file is None:
            trials.append(trial)
            continue
        key = (file, trial.stage)
        if key not in answers:
            _refuse_other_stage(file, trial)
            modules = top_level(load_stage(trial.stage).libraries(trial.params)[0])
            answers[key] = _identity_of(file, trial.stage, modules)
        params = _known(file, trial, answers[key].parameters)
        trials.append(trial.model_copy(update={"params": params}))
    found = {str(file): answer.identity for (file, _), answer in answers.items()}
    _refuse_hidden(found.values())
    return plan.model_copy(update={"trials": tuple(trials), "identities": found})


def _refuse_other_stage(file: Path, trial: Trial) -> None:
    """Raise where a version of an entry is an image of another stage."""
    if file.suffix != ".sif":
        return
    of = find_engine().labels_of(file).get(f"{PREFIX}stage", "another program")
    if of != trial.stage:
        raise UserError(
            f"{file} is an image of {of}, and {trial.entry} runs {trial.stage}: add --only with "
            "entries of that stage"
        )


def _refuse_hidden(identities: Iterable[Identity]) -> None:
    """Raise where every Python would take the stages from PYTHONPATH, and differ in nothing."""
    named = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    folders = {Path(folder).resolve() for folder in named}
    for one in identities:
        if one.code_folder.parent in folders:
            raise UserError(
                f"PYTHONPATH names {one.code_folder.parent}, so that every version would run the "
                "same stages: take that folder out of PYTHONPATH"
            )


def refuse_changed_versions(plan: Plan, run: str) -> None:
    """Raise where a Python of a run is not what it began with."""
    stages = {trial.interpreter: trial.stage for trial in plan.trials if trial.interpreter}
    for interpreter, stage in stages.items():
        began = plan.identities.get(str(interpreter))
        if began is not None and _identity_of(interpreter, stage).identity != began:
            raise UserError(
                f"{interpreter} has different code or packages than at the start of the run {run}: "
                "restore it, or start a new run"
            )


def _identity_of(file: Path, stage: str, modules: Sequence[str] = ()) -> _Answer:
    """Ask a Python or an image what it has of a stage, as tasks would find it."""
    command = [str(file)]
    if file.suffix == ".sif":
        command = find_engine().command("exec", *OPTIONS, str(file), "python3")
    source = Path(identity.__file__).read_text(encoding="utf-8")
    try:
        # With -c Python looks for modules in the folder that it starts in.
        done = ran([*command, "-c", source, stage, *modules], cwd="/")
    except OSError as error:
        raise UserError(f"{command[0]} cannot be started ({error.strerror})") from error
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise UserError(
            f"{file} cannot run the stage {stage} ({said}): install pyscale with that stage there"
        )
    told = json.loads(done.stdout.strip().splitlines()[-1])
    if told["schema_version"] != READABLE:
        raise UserError(
            f"{file} writes records of version {told['schema_version']}, but this pyscale reads "
            f"version {READABLE}: name a release with such records"
        )
    if told["absent"]:
        raise UserError(
            f"{file} lacks {' and '.join(told['absent'])}, which the stage {stage} needs: "
            f"install pyscale[{load_stage(stage).extra}] there"
        )
    return _Answer(frozenset(told["parameters"]), Identity.model_validate(told["identity"]))


def _known(file: Path, trial: Trial, known: frozenset[str]) -> dict[str, JsonValue]:
    stage: Stage = load_stage(trial.stage)
    for name in sorted(trial.params.keys() - known):
        usual = stage.params.model_fields[name].get_default(call_default_factory=True)
        # Both in the form of JSON, as a plan holds them.
        if trial.params[name] != stage.params.model_construct(**{name: usual}).model_dump(
            mode="json", include={name}
        ).get(name):
            raise UserError(
                f"{file} has no parameter {name} of {trial.stage}, which this run sets to "
                f"{trial.params[name]}: leave it at its default"
            )
    return {name: value for name, value in trial.params.items() if name in known}

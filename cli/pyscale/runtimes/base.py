"""The base version of a run, asked in its own environment or images before anything is measured."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from pyscale.doctor.preflight import top_level
from pyscale.errors import UserError
from pyscale.images.engine import find_engine
from pyscale.planning.baseversion import BaseVersion, Identity, refuse_in_vain
from pyscale.planning.plan import Plan, Trial
from pyscale.processes import ran
from pyscale.runtimes import identity
from pyscale_stages.binds import OPTIONS
from pyscale_stages.contract import Stage, TaskResult
from pyscale_stages.registry import load_stage

READABLE = TaskResult.model_fields["schema_version"].default
"""Version of the records that this pyscale reads."""


class _Answer(NamedTuple):
    parameters: frozenset[str]
    identity: Identity


def fitted_to_base(plan: Plan) -> Plan:
    """Ask the base of a plan whether it can run its trials, and keep to parameters that it knows.

    Parameters that it does not know are left out of its trials where the run has their default. A
    UserError says that the base cannot run a stage, has another contract, or lacks a parameter that
    the run sets; a MissingPart that it holds images and this machine has no container program.
    """
    base = plan.base
    if base is None:
        return plan
    entries = {*plan.versions.values()}
    refuse_in_vain(base, {trial.stage for trial in plan.trials if trial.entry in entries})
    if base.kind == "parameters":
        return plan
    answers: dict[tuple[str, str | None], _Answer] = {}
    trials = []
    for trial in plan.trials:
        if trial.entry not in entries:
            trials.append(trial)
            continue
        key = (trial.stage, trial.image)
        if key not in answers:
            answers[key] = _asked(base, trial)
        params = _known(base, trial, answers[key].parameters)
        trials.append(trial.model_copy(update={"params": params}))
    identities = {image or "base": answer.identity for (_, image), answer in answers.items()}
    if base.kind == "environment":
        own = _identity_of([sys.executable], next(iter(answers))[0])
        _refuse_hidden(base, own.identity.code_folder)
        identities = {"new": own.identity} | identities
    asked = base.model_copy(update={"identities": identities})
    return plan.model_copy(update={"trials": tuple(trials), "base": asked})


def _refuse_hidden(base: BaseVersion, code: Path) -> None:
    """Raise where both Pythons would take the stages from PYTHONPATH, and compare them in vain."""
    named = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    if any(Path(folder).resolve() == code.parent for folder in named):
        raise UserError(
            f"PYTHONPATH names {code.parent}, so that --against {base.path} would run the same "
            "stages as this environment: take that folder out of PYTHONPATH"
        )


def refuse_changed_base(plan: Plan, run: str) -> None:
    """Raise where the environment that a run is measured against is not what it began with."""
    base = plan.base
    if base is None or base.kind != "environment":
        return
    stage = next(trial.stage for trial in plan.trials if trial.interpreter is not None)
    now = {"new": [sys.executable], "base": [str(base.python)]}
    for which, interpreter in now.items():
        if _identity_of(interpreter, stage).identity != base.identities[which]:
            what = str(base) if which == "base" else f"this environment ({sys.prefix})"
            raise UserError(
                f"{what} has different code or packages than at the start of the run {run}: "
                "restore it, or start a new run"
            )


def _asked(base: BaseVersion, trial: Trial) -> _Answer:
    modules = top_level(load_stage(trial.stage), trial.params)
    if trial.image is None:
        return _identity_of([str(base.python)], trial.stage, modules, f"--against {base.path}")
    sif = base.sif(trial.image)
    if not sif.is_file():
        raise UserError(
            f"--against {base.path} has no image {sif.name}: build or pull it into that folder"
        )
    engine = find_engine()
    interpreter = engine.command("exec", *OPTIONS, str(sif), "python3")
    return _identity_of(interpreter, trial.stage, modules, f"--against {sif}")


def _identity_of(
    interpreter: Sequence[str], stage: str, modules: Sequence[str] = (), named: str = "this Python"
) -> _Answer:
    """Ask a Python what it has of a stage, with the variables of tasks and no folder of modules."""
    source = Path(identity.__file__).read_text(encoding="utf-8")
    try:
        # With -c Python looks for modules in the folder that it starts in.
        done = ran([*interpreter, "-c", source, stage, *modules], cwd="/")
    except OSError as error:
        raise UserError(
            f"{named} is unusable as a baseline: {interpreter[0]} cannot be started "
            f"({error.strerror})"
        ) from error
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise UserError(
            f"{named} cannot run the stage {stage} ({said}): install pyscale with that stage there"
        )
    told = json.loads(done.stdout.strip().splitlines()[-1])
    if told["schema_version"] != READABLE:
        raise UserError(
            f"{named} writes records of version {told['schema_version']}, but this pyscale reads "
            f"version {READABLE}: name a release with such records"
        )
    if told["absent"]:
        raise UserError(
            f"{named} lacks {' and '.join(told['absent'])}, which the stage {stage} needs: "
            f"install pyscale[{load_stage(stage).extra}] there"
        )
    return _Answer(frozenset(told["parameters"]), Identity.model_validate(told["identity"]))


def _known(base: BaseVersion, trial: Trial, known: frozenset[str]) -> dict[str, JsonValue]:
    stage: Stage = load_stage(trial.stage)
    for name in sorted(trial.params.keys() - known):
        usual = stage.params.model_fields[name].get_default(call_default_factory=True)
        # Both in the form of JSON, as a plan holds them.
        if trial.params[name] != stage.params.model_construct(**{name: usual}).model_dump(
            mode="json", include={name}
        ).get(name):
            raise UserError(
                f"--against {base.path} has no parameter {name} of {trial.stage}, which this run "
                f"sets to {trial.params[name]}: leave it at its default"
            )
    return {name: value for name, value in trial.params.items() if name in known}

"""A step of the user's own on the command line: a suite of one entry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pyscale.errors import UserError
from pyscale.suite import OF_STEPS, OWN_STEP, Suite, SuiteStage, in_its_folder
from pyscale_stages.command.params import CommandParams
from pyscale_stages.wording import first_problem

NAME = "step"
"""Of the suite and of its only entry."""


def suite_asked_for(
    suite: str | None, step: str | None, keys: Mapping[str, Any]
) -> str | Suite | None:
    """What is to be measured: a suite by its name or path, or a step of the user's own."""
    given = {name: value for name, value in keys.items() if value is not None}
    if step is None:
        if given:
            flags = " and ".join(f"--{name}" for name in given)
            raise UserError(f"{flags}: that is said of a step; give its command by --step")
        return suite
    if suite is not None:
        raise UserError(f"--step is measured by itself, so leave out the suite {suite}")
    given |= {name: str(value) for name, value in given.items() if isinstance(value, Path)}
    try:
        entry = SuiteStage.model_validate({"command": step, **given})
        # Parameters of the user's own program are set later, and planning looks at them.
        later = dict.fromkeys(re.findall(r"\{params\.(\w+)\}", step), "")
        # One in a registry is a file from when it is pulled.
        here = {k: v for k, v in entry.params.items() if k != "image" or "://" not in str(v)}
        CommandParams.model_validate({**later, **here})
    except ValidationError as error:
        raise UserError(f"--step: {first_problem(error, CommandParams)}") from error
    found = Suite(
        name=NAME,
        summary="A step of one's own",
        data=given["split"] if given.get("split") in OF_STEPS else "movie",
        stages={NAME: entry},
    )
    return in_its_folder(found, Path.cwd())


def words_for(suite: Suite) -> list[str] | None:
    """Words of the command line that ask for a suite again; None where it is no single step."""
    if (suite.name, [*suite.stages]) != (NAME, [NAME]) or suite.stage_name(NAME) != OWN_STEP:
        return None
    params = suite.stages[NAME].params
    params = {**params, "image": params.get("pulled_from", params.get("image"))}
    words = ["--step", str(params["command"])]
    for key in ("output", "split", "merge", "check", "environment", "image"):
        words += [f"--{key}", str(params[key])] if params.get(key) is not None else []
    return [*words, *(["--shell"] if params.get("shell") else [])]

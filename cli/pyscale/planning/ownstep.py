"""A step of the user's own on the command line: a suite of one entry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyscale.errors import UserError, problems_told
from pyscale.planning.suite import OF_STEPS, OWN_STEP, Suite, SuiteStage, in_its_folder
from pyscale_stages.command.params import CommandParams

STEP = "step"
"""The suite of a step, and its only entry."""
KEYS = ("output", "split", "merge", "check", "environment", "image")
"""Keys of a step that a flag of their name asks for."""


def step_asked_for(
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
    entry = _entry(step, given)
    data = given["split"] if given.get("split") in OF_STEPS else "movie"
    found = Suite(name=STEP, summary="A step of one's own", data=data, stages={STEP: entry})
    return in_its_folder(found, Path.cwd())


def _entry(command: str, given: Mapping[str, Any]) -> SuiteStage:
    """The only entry, by its command and keys."""
    as_text = {name: str(it) if isinstance(it, Path) else it for name, it in given.items()}
    with problems_told(CommandParams, "--step: "):
        entry = SuiteStage.model_validate({"command": command, **as_text})
        # Parameters of the user's own program are set later, and planning looks at them.
        later = dict.fromkeys(re.findall(r"\{params\.(\w+)\}", command), "")
        CommandParams.model_validate({**later, **entry.params})
    return entry


def words_for(suite: Suite) -> list[str] | None:
    """Words of the command line that ask for a step again; None where the suite is none."""
    is_step = [*suite.stages] == [STEP] and suite.name == STEP
    if not is_step or suite.stage_name(STEP) != OWN_STEP:
        return None
    params = suite.stages[STEP].params
    words = ["--step", str(params["command"])]
    for name in KEYS:
        words += [f"--{name}", str(params[name])] if params.get(name) is not None else []
    return [*words, *(["--shell"] if params.get("shell") else [])]

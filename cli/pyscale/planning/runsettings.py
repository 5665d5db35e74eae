"""What a command line asks for: a suite or a step of one's own, and the settings of its run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from pyscale.errors import UserError, problems_told
from pyscale.planning.grid import DEVICE, THREADS
from pyscale.planning.resolve_grid import BRIEF
from pyscale.planning.suite import (
    ALL_CORES,
    OF_STEPS,
    OWN_STEP,
    Suite,
    SuiteStage,
    in_its_folder,
    load_suite,
    suite_of,
)
from pyscale.planning.traits import DATA, measures_alone
from pyscale.settings import SET, Settings, SuiteLayer, flag_of, load_settings, users_own
from pyscale.tomlfile import file_of, parsed
from pyscale.wording import listing
from pyscale_stages.command.params import CommandParams
from pyscale_stages.wording import did_you_mean

ALSO_SETTINGS = {DEVICE: "device", THREADS: "cpus_per_worker"}
"""Axes of which a suite without a grid has one value, and the setting that says it."""

TOLERANCE = "tolerance"


def axes_asked_for(axes: Sequence[str]) -> dict[str, str] | None:
    """Axes and their values, from each --grid; None where there is none."""
    asked: dict[str, str] = {}
    for text in axes:
        axis, equals, values = (part.strip() for part in text.partition("="))
        if not (axis and equals):
            raise UserError(f"--grid {text}: give an axis and its values, as in threads=1,2")
        if axis in asked:
            raise UserError(f"the axis {axis} is given twice: give all its values in one")
        asked[axis] = values
    return asked or None


def what_is_set(pairs: Sequence[str]) -> dict[str, Any]:
    """Settings from each --set, the parameters of stages among them as `stages`."""
    stages: dict[str, dict[str, JsonValue]] = {}
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = (part.strip() for part in pair.partition("="))
        stage, dot, parameter = (part.strip() for part in name.partition("."))
        if not equals or not (name in SET or (stage and dot and parameter)):
            raise UserError(
                f"--set {pair}: give STAGE.PARAMETER=VALUE, as in segment.diameter_px=30, or one "
                f"of {listing(SET)}, as in seed=3"
            )
        if stage == TOLERANCE:
            into, key = found.setdefault(TOLERANCE, {}), parameter
        else:
            into, key = (stages.setdefault(stage, {}), parameter) if dot else (found, name)
        if key in into:
            raise UserError(f"--set {name} is given twice: leave one of them out")
        into[key] = parameter_value(value) if dot else value
    return found | ({"stages": stages} if stages else {})


def parameter_value(text: str) -> JsonValue:
    """A value as TOML or JSON has it; any other text is a text, so that no shell needs quotes."""
    value: JsonValue = text
    with suppress(ValueError):
        value = parsed(f"value = {text}")["value"]
    with suppress(ValueError):
        value = json.loads(text)
    try:
        # Dates and infinities, which neither a record nor a parameter can be.
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return text
    return value


def settings_for(named: str | Suite, flags: dict[str, Any]) -> Settings:
    """Settings of a run of a suite: those that suit it are below the user's own.

    What the user says of the device or the threads chooses from the suite's axis where it has one.
    """
    suite = suite_of(named)
    layer = SuiteLayer(file_of("suite", named), suite.settings) if isinstance(named, str) else None
    _refuse_other_stages(suite, flags)
    axes = {axis for step in suite.stages.values() for axis in step.grid}
    if any(step.threads == ALL_CORES for step in suite.stages.values()):
        axes.add(THREADS)
    given = {name: value for name, value in flags.items() if value is not None}
    if DEVICE not in axes and "," in given.get(DEVICE, ""):
        raise UserError(
            f"--device {given[DEVICE]}: the suite {suite.name} compares no devices, so give one"
        )
    for axis, name in ALSO_SETTINGS.items():
        if axis in axes and name in given:
            asked = dict(given.get("grid", {}))
            if axis in asked:
                raise UserError(
                    f"{flag_of(name)} and --grid {axis}= say the same: leave one of them out"
                )
            given["grid"] = asked | {axis: str(given[name])}
    if DEVICE in axes:
        given.pop(DEVICE, None)
    settings, own = load_settings(layer, **given), users_own(given)
    _refuse_without_meaning(suite, given, settings)
    if isinstance(named, Suite) and "data" not in own:
        raise UserError("--step needs --data: name the movie, file or folder that it reads")
    chosen = {
        axis: (getattr(settings, name),)
        for axis, name in ALSO_SETTINGS.items()
        if axis in axes and name in own and axis not in settings.grid
    }
    return settings.model_copy(update={"grid": settings.grid | chosen})


def _refuse_other_stages(suite: Suite, flags: Mapping[str, Any]) -> None:
    """Raise where --set names what the suite has not; a file may name stages of other suites."""
    suites = [suite, *([load_suite(BRIEF)] if flags.get("with_system") else [])]
    known = {name for one in suites for name in one.stages}
    known |= {one.stage_name(entry) for one in suites for entry in one.stages}
    for name in [*(flags.get("stages") or {}), *(flags.get(TOLERANCE) or {})]:
        # Points of a grid are named by its entry and their place in it.
        if name not in known and not any(name.startswith(f"{entry}_") for entry in known):
            raise UserError(
                f"--set {name}: the suite {suite.name} has no stage {name!r}; "
                f"{did_you_mean(name, known)}"
            )


def _refuse_without_meaning(suite: Suite, given: Mapping[str, Any], settings: Settings) -> None:
    """Raise where a flag tells of data that a suite does not read, or of a folder likewise."""
    data = DATA[suite.data]
    of_a_movie = [flag_of(name) for name in data.without_meaning if name in given]
    if of_a_movie:
        raise UserError(
            f"{' and '.join(of_a_movie)}: the suite {suite.name} {data.does} and reads no movie, "
            "so leave that out"
        )
    if suite.data == "place":
        if given.get("with_system"):
            raise UserError(
                f"--with-system: the suite {suite.name} measures the machine already, so leave it "
                "out"
            )
    elif "path" in given and not (settings.with_system or suite.entries_that(measures_alone)):
        raise UserError(
            f"--set path={given['path']}: the suite {suite.name} measures no folder; add "
            "--with-system to measure it too, or run the suite system"
        )


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

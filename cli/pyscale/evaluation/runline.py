"""Command lines that measure again what a run measured, and the runs that make a choice surer."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from pyscale.analysis.advice import ORDER, Choice, Experiment, Objective, experiments
from pyscale.planning.grid import AXES_OF_ALL, DEVICE, bare, version_axes
from pyscale.planning.plan import Plan
from pyscale.planning.resolve_grid import without_system
from pyscale.planning.runsettings import ALSO_SETTINGS, parameter_value, words_for
from pyscale.planning.suite import Suite, suite_names
from pyscale.planning.traits import DATA
from pyscale.report.curves import Curve
from pyscale.settings import ENVIRONMENT_PREFIX, SET, Settings, flag_of
from pyscale_stages.reading import Reading
from pyscale_stages.registry import load_stage
from pyscale_stages.wording import plural

ALIKE = (
    *("truth", *Reading.model_fields, "device", "cpus_per_worker", "cache", "executor", "site"),
    *("chunks_per_worker", "scaling", "runtime"),
    *("unlocked_images", "seed"),
)
"""Settings in which two such runs must not differ; each has a flag."""
WITHOUT_FLAG = ("images",)
"""The same, where a file or a variable alone can say them."""


def run_line(plan: Plan, entries: Sequence[str], experiment: Experiment) -> str:
    """Write the line that carries out an experiment on entries of a run's suite."""
    only = [] if {*entries} == {*_own(plan).stages} else [*entries]
    return _line(plan, plan.settings, only, experiment.workers, experiment.repeats)


def repeat_line(plan: Plan) -> str:
    """Write the line that carries out a whole run again."""
    scaling = plan.scaling_trials or plan.trials
    own = _own(plan).stages
    measured = [e for e in dict.fromkeys(t.entry for t in scaling) if e in plan.measured]
    measured = [entry for entry in measured if entry in own]
    # What measures the machine beside a movie is left out only where some of it is named.
    once = plan.suite.measured_once
    beside = once & {trial.entry for trial in plan.trials}
    named = [*dict.fromkeys([*measured, *(sorted(beside) if beside != once else [])])]
    only = [] if {*named} == {*own} else named
    counts = sorted({trial.workers for trial in scaling})
    line = _line(plan, plan.settings, only, counts, plan.settings["repeats"])
    machine = ["--with-system"] if plan.settings.get("with_system") and once else []
    # The folder of the runs may be another where this is repeated.
    machine += ["--set", f"path={plan.place}"] if plan.settings.get("path") and plan.place else []
    return " ".join([line, *([shlex.join(machine)] if machine else [])])


def interleaved_line(plan: Plan) -> str | None:
    """Write the line that measures two versions in the same blocks; None where none can."""
    stages = [load_stage(name) for name in dict.fromkeys(trial.stage for trial in plan.trials)]
    if any(stage.runs_outside for stage in stages):
        versions = "environment=OLD,NEW"
    elif not any(map(version_axes, stages)):
        return None
    elif plan.settings["runtime"] == "native":
        versions = "python=OLD/bin/python,NEW/bin/python"
    else:
        versions = "image=OLD.sif,NEW.sif"
    return f"{repeat_line(plan)} --grid {versions}"


def _line(
    plan: Plan,
    settings: Mapping[str, Any],
    only: Sequence[str],
    counts: Sequence[int],
    repeats: int,
) -> str:
    suite = _own(plan)
    words = ["pyscale", "run", *(words_for(suite) or [suite_argument(plan)])]
    words += [] if plan.movie is None else ["--data", str(settings["data"])]
    words += [word for entry in only for word in ("--only", entry)]
    words += ["--workers", ",".join(map(str, counts))]
    words += ["--repeats", str(repeats)]
    words += _flags(settings, _own(plan), only)
    variables = [
        f"{ENVIRONMENT_PREFIX}{name.upper()}={shlex.quote(json.dumps(settings[name]))}"
        for name in WITHOUT_FLAG
        if settings.get(name)
    ]
    return " ".join([*variables, shlex.join(words)])


def suite_argument(plan: Plan) -> str:
    """Name of the run's suite, or of the file that one of the user's own must lie in."""
    suite = plan.suite
    is_shipped = suite.name in suite_names() and not suite.is_own
    return suite.name if is_shipped else f"{suite.name}.toml"


def _own(plan: Plan) -> Suite:
    """The suite that was named, without what was measured beside it."""
    return without_system(plan.suite) if plan.settings.get("with_system") else plan.suite


def _flags(settings: Mapping[str, Any], suite: Suite, only: Sequence[str]) -> list[str]:
    """Flags for what is not as it is built in, or as the suite says."""
    words: list[str] = []
    steps = suite.stages.items()
    families = {step.family for entry, step in steps if not only or {entry, step.family} & {*only}}
    points = [step.point for _, step in steps if step.family in families]
    # Other machines have other devices, so those that were found here are named.
    devices = dict.fromkeys(point[DEVICE] for point in points if DEVICE in point)
    grid = settings.get("grid", {}) | ({DEVICE: [*devices]} if devices else {})
    said_by_axis = {name for axis, name in ALSO_SETTINGS.items() if axis in grid}
    for name in ALIKE:
        field = Settings.model_fields[name]
        usual = suite.settings.get(name, field.default)
        value = settings.get(name, field.default)
        without_meaning = {*said_by_axis, *DATA[suite.data].without_meaning}
        if settings["executor"] == "local":
            without_meaning.add("site")
        if value != usual and name not in without_meaning:
            flag, text = flag_of(name), str(value)
            if name in SET:
                words += ["--set", f"{name}={text.lower() if value is True else text}"]
            else:
                words += [flag] if value is True else [flag, text]
    # What is measured alone may have no grid, and is refused values of its axes then.
    taken = {*AXES_OF_ALL}.union(*points)
    for axis, values in grid.items():
        if bare(axis) not in taken:
            continue
        told = [value if isinstance(value, str) else json.dumps(value) for value in values]
        words += ["--grid", f"{axis}={','.join(told)}"]
    # A file of settings may name stages of other suites too.
    own = {*suite.stages}.union(*({suite.stage_name(e), step.family} for e, step in steps))
    for stage, params in settings.get("stages", {}).items():
        given = params.items() if stage in own else ()
        words += [word for name, value in given for word in ("--set", _set(stage, name, value))]
    for stage, value in settings.get("tolerance", {}).items():
        words += ["--set", f"tolerance.{stage}={value:g}"] if stage in own else []
    return words


def _set(stage: str, name: str, value: Any) -> str:
    bare = isinstance(value, str) and parameter_value(value) == value
    return f"{stage}.{name}={value if bare else json.dumps(value)}"


def experiments_of(
    curve: Curve,
    own: Sequence[Choice],
    plan: Plan | None,
    cores: int | None,
) -> tuple[Experiment, ...]:
    """Name the runs that would settle the choices of one curve."""
    needed = _needed(curve, own, plan)
    return tuple(_with_command(one, [curve.key["stage"]], plan, cores) for one in needed)


def next_runs(
    found: Sequence[Curve],
    choices: Sequence[Choice],
    plan: Plan | None,
    cores: int | None,
    *,
    objective: Objective = "knee",
) -> tuple[Experiment, ...]:
    """Name the runs that would settle one objective on all curves, one line for equal ones."""
    merged: dict[Experiment, list[str]] = {}
    for curve in found:
        own = [one for one in choices if curve.owns(one) and one.objective == objective]
        for one in _needed(curve, own, plan):
            merged.setdefault(one, []).append(curve.key["stage"])
    in_order = sorted(merged.items(), key=lambda item: (ORDER.index(item[0].code), -len(item[1])))
    return tuple(
        one.model_copy(update={"command": f"pyscale extend {plan.run_id} --repeats {one.repeats}"})
        if plan is not None and one.code == "few-repeats"
        else _with_command(one, entries, plan, cores)
        for one, entries in in_order
    )


def threads_of(plan: Plan, entry: str) -> int:
    """Cores and threads of each worker of an entry: all its trials have as many."""
    return plan.threads_of(next(trial for trial in plan.trials if trial.entry == entry))


def _needed(curve: Curve, own: Sequence[Choice], plan: Plan | None) -> list[Experiment]:
    fewest = min((row["repeats"] for row in curve.timed if not row["invalid"]), default=0)
    frames = None if plan is None else plan.movie_frames
    needed = (one for choice in own for one in experiments(choice, fewest, frames=frames))
    return [*dict.fromkeys(needed)]


def _with_command(
    experiment: Experiment, entries: Sequence[str], plan: Plan | None, cores: int | None
) -> Experiment:
    """Add the line that measures it, where this machine can."""
    if plan is None:
        return experiment
    needed = experiment.workers[-1] * max(threads_of(plan, entry) for entry in entries)
    if plan.site is None and cores is not None and needed > cores:
        lacking = (
            f" It takes {plural(needed, 'core')}, and the machine of this run has {cores}: measure "
            "on a larger one."
        )
        return experiment.model_copy(update={"reason": experiment.reason + lacking})
    line = run_line(plan, entries, experiment)
    return experiment.model_copy(update={"command": line})

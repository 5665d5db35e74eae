"""Axes of a suite's grids, and their points, each as an entry of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from itertools import product
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import cast, get_args

from pyscale.errors import UserError
from pyscale.planning.suite import ALL_CORES, GridValue, Suite, SuiteStage
from pyscale.planning.traits import shares_windows
from pyscale_stages.contract import Device, Stage
from pyscale_stages.registry import load_stage
from pyscale_stages.wording import did_you_mean

DEVICE, THREADS = "device", "threads"
AXES_OF_ALL = (DEVICE, THREADS)
"""Axes that every stage has; all others are versions, or parameters of the stage."""
ENVIRONMENT, IMAGE, PYTHON = "environment", "image", "python"
VERSIONS = (ENVIRONMENT, IMAGE, PYTHON)
"""Axes whose values are versions of a stage: folders of Python environments, image files, or
interpreters. Of a step of the user's own the first two are parameters."""
WHOLE = "full"
"""Value of a parameter that stands for None, which TOML cannot say."""
Grid = Mapping[str, tuple[GridValue, ...]]
Point = dict[str, GridValue]
NO_NAMES = {"/", "bin", "python", "python3", ".venv", "venv"}
"""Parts of a path by which no version of a stage is told from others."""
Cores = Callable[[Stage, Device], int]
"""Cores that "all" stands for, for a worker of a stage on a device."""


def unfolded(
    suite: Suite,
    chosen: Grid,
    *,
    device: Device,
    cores: Cores,
    fitted: Mapping[str, Grid] = MappingProxyType({}),
    left_out: Set[str] = frozenset(),
) -> Suite:
    """Make an entry of every point of every grid of a suite.

    A point is named for the axes that have several values in the suite's file, so that it has that
    name in every run, or as chosen. `chosen` values replace those of the suite, and below them are
    those that are `fitted` to an entry. Of entries that are `left_out` no axis but that of threads
    is chosen.
    """
    with_grid = {entry for entry, step in suite.stages.items() if step.grid}
    suite, chosen = _side_by_side(suite, chosen, left_out)
    families = {
        entry: step
        for entry, step in suite.stages.items()
        if step.grid or (step.threads == ALL_CORES and THREADS in chosen)
    }
    _refuse_unknown_axes(suite, families, chosen)
    stages: dict[str, SuiteStage] = {}
    for entry, step in suite.stages.items():
        fed = next((source for source in step.inputs.values() if source in with_grid), None)
        if fed is not None:
            raise UserError(
                f"the suite {suite.name} feeds stages.{entry} from {fed}, which has a grid with "
                "several points: feed it otherwise, or remove the grid"
            )
        if entry in families:
            family = _chosen_of(suite, entry, fitted.get(entry, {}), chosen, left_out)
            points = _points(suite, entry, family, device, cores)
        elif step.threads == ALL_CORES:
            stage = load_stage(suite.stage_name(entry))
            threads = cores(stage, suite.device_of(entry, device))
            points = [(entry, step.model_copy(update={"threads": threads}))]
        else:
            points = [(entry, step)]
        for name, point in points:
            if name in stages:
                raise UserError(
                    f"the grid of stages.{entry} of the suite {suite.name} makes a second entry "
                    f"named {name}: rename the entry, or leave one of the two out"
                )
            stages[name] = point
    return suite.model_copy(update={"stages": stages})


def _side_by_side(suite: Suite, chosen: Grid, left_out: Set[str]) -> tuple[Suite, Grid]:
    """Give entries the versions that are chosen, or one of them the values of a parameter.

    What others read is the output of the first value. Returned are also the axes of the suite's
    own grids among the chosen.
    """
    axes = [axis for axis in chosen if axis in VERSIONS or "." in axis]
    if not axes:
        return suite, chosen
    if len(axes) > 1:
        raise UserError(
            f"--grid {' and '.join(axes)}: what stands side by side differs in one of them, so "
            "give one"
        )
    values = tuple(chosen[axes[0]])
    entry, _, axis = axes[0].rpartition(".")
    if entry:
        _refuse_unknown_parameter(suite, entry, axis)
        chosen = {own: values for own, values in chosen.items() if own != axes[0]}
        able = {entry} - left_out
    else:
        able = {
            entry
            for entry in suite.stages.keys() - left_out
            if axis in _known_axes(load_stage(suite.stage_name(entry)))
        }
    first = {
        entry: f"{entry}_{_word(axis, values[0])}"
        for entry in able
        if len(values) > 1 and not suite.stages[entry].grid
    }
    stages = {}
    for entry, step in suite.stages.items():
        inputs = {slot: first.get(source, source) for slot, source in step.inputs.items()}
        grid = step.grid | ({axis: values} if entry in able else {})
        stages[entry] = step.model_copy(update={"inputs": inputs, "grid": grid})
    versus = axis if able and len(values) > 1 else suite.versus
    return suite.model_copy(update={"stages": stages, "versus": versus}), chosen


def _refuse_unknown_parameter(suite: Suite, entry: str, parameter: str) -> None:
    """Raise where a suite has no such entry, or its stage no such parameter."""
    named = f"--grid {entry}.{parameter}: the suite {suite.name} has no stage {entry!r}"
    if entry not in suite.stages:
        raise UserError(f"{named}; {did_you_mean(entry, list(suite.stages))}")
    stage = load_stage(suite.stage_name(entry))
    if parameter not in stage.params.model_fields:
        raise UserError(
            f"--grid {entry}.{parameter}: {stage.name} has no parameter {parameter!r}; "
            f"{did_you_mean(parameter, list(stage.params.model_fields))}"
        )


def _chosen_of(
    suite: Suite, entry: str, fitted: Grid, chosen: Grid, left_out: Set[str]
) -> SuiteStage:
    """A family with the values that are chosen for it."""
    step = suite.stages[entry]
    of_file = {
        axis for other in suite.stages.keys() - left_out for axis in suite.stages[other].grid
    }
    if entry in left_out:
        # Any entry takes numbers of threads, and how many all are may not be known.
        chosen = {axis: values for axis, values in chosen.items() if axis == THREADS}
    stage = load_stage(suite.stage_name(entry))
    known = _known_axes(stage)
    grid = {**step.grid, **fitted}
    for axis, values in chosen.items():
        if axis in step.grid or (axis not in of_file and axis in known):
            grid[axis] = tuple(values)
    if suite.versus is not None and suite.versus in grid:
        # The first is what the others are compared with, in whichever order they were asked for.
        order = step.grid.get(suite.versus, ())
        grid[suite.versus] = tuple(
            sorted(grid[suite.versus], key=lambda v: order.index(v) if v in order else len(order))
        )
    return step.model_copy(update={"grid": grid})


def _points(
    suite: Suite, entry: str, family: SuiteStage, device: Device, cores: Cores
) -> list[tuple[str, SuiteStage]]:
    """Points of one family with their names."""
    stage = load_stage(suite.stage_name(entry))
    for axis, values in family.grid.items():
        _refuse_wrong_values(f"stages.{entry} of the suite {suite.name}", stage, axis, values)

    def at(point: Point) -> SuiteStage:
        return _at(family.model_copy(update={"stage": stage.name}), stage, point, device, cores)

    distinct: dict[str, SuiteStage] = {}
    for values in product(*family.grid.values()):
        step = at(dict(zip(family.grid, values, strict=True)))
        # Points that come to the same work are measured once.
        distinct.setdefault(_measured(step), step)
    of_file = suite.stages[entry].grid
    varied = [
        axis
        for axis in family.grid
        if len(of_file.get(axis, ())) > 1 or len({one.point[axis] for one in distinct.values()}) > 1
    ]
    names = {
        key: "_".join([entry, *(_word(axis, step.point[axis]) for axis in varied)])
        for key, step in distinct.items()
    }
    points = []
    for key, step in distinct.items():
        base = key
        if suite.versus in family.grid:
            first = family.grid[suite.versus][0]
            base = _measured(at(step.point | {suite.versus: first}))
        beside = None if base == key else names.get(base)
        points.append((names[key], step.model_copy(update={"family": entry, "beside": beside})))
    return points


def _at(
    family: SuiteStage, stage: Stage, point: Point, run_device: Device, cores: Cores
) -> SuiteStage:
    """The entry at a point of a grid."""
    device = next(one for one in (point.get(DEVICE), family.device, run_device) if one is not None)
    threads = point.get(THREADS, family.threads)
    if threads == ALL_CORES:
        threads = cores(stage, cast("Device", device))
    params = {
        axis: None if v == WHOLE else v
        for axis, v in point.items()
        if axis not in {*AXES_OF_ALL, *version_axes(stage)}
    }
    return family.model_copy(
        update={
            "params": family.params | params,
            "device": point.get(DEVICE, family.device),
            "threads": threads,
            "grid": {},
            "point": point,
        }
    )


def _measured(step: SuiteStage) -> str:
    """What is measured at a point, whatever the point is called."""
    version = [step.point.get(axis) for axis in VERSIONS]
    return f"{step.model_dump_json(include={'params', *AXES_OF_ALL})}{version}"


def _word(axis: str, value: GridValue) -> str:
    """How a value is told from others of its axis in the name of a point."""
    if axis.endswith("_px"):
        word = WHOLE if value == WHOLE else f"{value}px"
    elif axis == THREADS:
        word = f"{value}threads"
    elif axis in VERSIONS:
        # Of /opt/old/.venv/bin/python it is `old` that tells it from others.
        parts = [part for part in PurePath(str(value)).parts if part not in NO_NAMES]
        word = parts[-1].removesuffix(".sif") if parts else axis
    elif isinstance(value, str):
        word = PurePath(value).name
    else:
        word = f"{axis}_{value}"
    return re.sub(r"[^a-z0-9]+", "_", word.lower()).strip("_")


def _known_axes(stage: Stage) -> list[str]:
    """Axes that a grid of a stage may have."""
    return [*stage.params.model_fields, *AXES_OF_ALL, *version_axes(stage)]


def version_axes(stage: Stage) -> tuple[str, ...]:
    """Axes by which a stage runs in several versions, beside its parameters."""
    return VERSIONS if shares_windows(stage.name) and not stage.runs_outside else ()


def bare(axis: str) -> str:
    """An axis without the entry that may be named before its dot."""
    return axis.rpartition(".")[2]


def compares_trials(suite: Suite) -> bool:
    """Whether values of `versus` are compared by the times of their trials, run one by one.

    Others are compared at each value of `against`, by the calls that a stage times.
    """
    return suite.versus is not None and (suite.versus in VERSIONS or suite.against is None)


def version_at(stage: Stage, point: Mapping[str, GridValue]) -> tuple[str, Path] | None:
    """Axis and file of the version that a stage has at a point; None is that of the run."""
    for axis in version_axes(stage):
        if axis in point:
            path = Path(str(point[axis])).expanduser().absolute()
            return axis, path / "bin" / "python" if axis == ENVIRONMENT else path
    return None


def _refuse_unknown_axes(suite: Suite, families: Mapping[str, SuiteStage], chosen: Grid) -> None:
    """Raise where the suite, or who chooses values, names an axis that no grid of it can have."""
    if chosen and not families:
        raise UserError(
            f"the suite {suite.name} has no grid, so {' and '.join(chosen)} cannot be set: leave "
            "out --grid and the setting grid, name a parameter with its stage, as in "
            "register_denoise.backend=ants,fft, or run another suite"
        )
    known = {entry: _known_axes(load_stage(suite.stage_name(entry))) for entry in families}
    for entry, step in families.items():
        for axis in step.grid:
            if axis not in known[entry]:
                raise UserError(
                    f"unknown axis {axis!r} in the grid of stages.{entry} of the suite "
                    f"{suite.name}; {did_you_mean(axis, known[entry])}"
                )
    every = [axis for axes in known.values() for axis in axes]
    for axis in chosen:
        if axis not in every:
            raise UserError(
                f"unknown grid axis {axis!r} for the suite {suite.name}; "
                f"{did_you_mean(axis, every)}"
            )
    of_grids = [axis for step in families.values() for axis in step.grid]
    for key, named in (("versus", suite.versus), ("against", suite.against)):
        if named is not None and named not in of_grids:
            others = did_you_mean(named, of_grids) if of_grids else "none of its stages has a grid"
            raise UserError(
                f"{key} = {named!r} of the suite {suite.name} is not an axis of a grid; {others}"
            )


def _refuse_wrong_values(where: str, stage: Stage, axis: str, values: Sequence[GridValue]) -> None:
    """Raise where an axis has no values, one twice, or one that no stage knows."""
    if not values:
        raise UserError(
            f"the grid of {where} has no value of {axis}: add one, or leave the axis out"
        )
    twice = [value for value in values if values.count(value) > 1]
    if twice:
        raise UserError(f"the grid of {where} has {axis} = {twice[0]} twice: list each value once")
    for value in values:
        problem = _problem(stage, axis, value)
        if problem is not None:
            raise UserError(f"the grid of {where} has {axis} = {value}: {problem}")


def _problem(stage: Stage, axis: str, value: GridValue) -> str | None:
    """Why a value of an axis cannot be, as far as the stage's parameters do not say it."""
    if axis == THREADS and value != ALL_CORES:
        counts = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        return None if counts else f"threads must be a whole number from 1, or {ALL_CORES}"
    if axis == DEVICE and value not in get_args(Device):
        return did_you_mean(str(value), get_args(Device))
    if axis == DEVICE and value not in stage.resources.devices:
        return f"{stage.name} computes only on {' and '.join(stage.resources.devices)}"
    version = version_at(stage, {axis: value})
    if version is not None and not version[1].exists():
        return f"{version[1]} does not exist"
    field = stage.params.model_fields.get(axis)
    if isinstance(value, bool) and field is not None and field.annotation is not bool:
        # A number would take true for 1.
        return f"{axis} must not be true or false"
    return None

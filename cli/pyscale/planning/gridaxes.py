"""Axes that a grid may have, and checks of their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

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


def known_axes(stage: Stage) -> list[str]:
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


def refuse_unknown_axes(suite: Suite, families: Mapping[str, SuiteStage], chosen: Grid) -> None:
    """Raise where the suite, or who chooses values, names an axis that no grid of it can have."""
    if chosen and not families:
        raise UserError(
            f"the suite {suite.name} has no grid, so {' and '.join(chosen)} cannot be set: leave "
            "out --grid and the setting grid, name a parameter with its stage, as in "
            "register_denoise.backend=ants,fft, or run another suite"
        )
    known = {entry: known_axes(load_stage(suite.stage_name(entry))) for entry in families}
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


def refuse_wrong_values(where: str, stage: Stage, axis: str, values: Sequence[GridValue]) -> None:
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

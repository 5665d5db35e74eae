"""The part of a suite's grid that a run measures, and brief tests of the node beside a suite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from pydantic import JsonValue

from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.planning.grid import AXES_OF_ALL, DEVICE, THREADS, WHOLE, Cores, Grid, bare, unfolded
from pyscale.planning.joboptions import asked_at, speaks_of_gpus
from pyscale.planning.placement import is_apple_silicon, visible_gpus
from pyscale.planning.sites import Site
from pyscale.planning.suite import ALL_CORES, GridValue, Suite, load_suite
from pyscale.planning.traits import meets
from pyscale.settings import Settings
from pyscale.wording import listing
from pyscale_stages.contract import Device, Stage
from pyscale_stages.measure.cpus import first_threads, usable_cpus
from pyscale_stages.registry import load_stage


def measured_suite(
    suite: Suite, settings: Settings, site: Site | None, only: Sequence[str] = ()
) -> Suite:
    """Unfold the grids of a suite, as far as a run can measure them, and count all cores.

    Devices that the suite alone names are left out where this machine or the cluster has none;
    those that the user asked for are refused there.
    """
    left_out = _left_out(suite, only)
    found = unfolded(
        suite,
        settings.grid,
        device=settings.device,
        cores=_cores_of(site),
        fitted={
            entry: _fitted(suite, entry, settings, site, is_measured=entry not in left_out)
            for entry, step in suite.stages.items()
            if step.grid
        },
        left_out=left_out,
    )
    _refuse_axes_in_vain(found, settings, only)
    return found if site is not None else _sharing_cores(suite, found)


def _left_out(suite: Suite, only: Sequence[str]) -> set[str]:
    """Entries of which no name is, nor may be that of a point; none where no known one is named."""
    named = {
        entry
        for entry in suite.stages
        if any(name == entry or name.startswith(f"{entry}_") for name in only)
    }
    return {*suite.stages} - named if named else set()


def _refuse_axes_in_vain(found: Suite, settings: Settings, only: Sequence[str]) -> None:
    """Raise where nothing that is measured takes the values that were chosen of a parameter."""
    steps = [step for entry, step in found.stages.items() if {entry, step.family} & {*only}]
    of_points = {axis for step in steps for axis in step.point}
    in_vain = [axis for axis in settings.grid if bare(axis) not in {*AXES_OF_ALL, *of_points}]
    if steps and in_vain:
        raise UserError(
            f"no entry chosen by --only of the suite {found.name} has a grid with "
            f"{listing(in_vain)}: name another entry, or set one value under [stages] in "
            "pyscale.toml instead of --grid"
        )


def _sharing_cores(suite: Suite, found: Suite) -> Suite:
    """Mark the entries whose ranks share all cores of this machine, as those of training do."""
    stages = dict(found.stages)
    for entry in found.entries_that(meets):
        step = stages[entry]
        asked = step.point.get(THREADS, suite.stages[step.family or entry].threads)
        if asked == ALL_CORES:
            stages[entry] = step.model_copy(update={"shares_cores": True})
    return found.model_copy(update={"stages": stages})


def _fitted(
    suite: Suite, entry: str, settings: Settings, site: Site | None, *, is_measured: bool
) -> Grid:
    """A family's axes with the values that are the user's, and the devices that there are."""
    stage = load_stage(suite.stage_name(entry))
    of_file = suite.stages[entry].grid
    own = settings.stages.get(stage.name, {}) | settings.stages.get(entry, {})
    grid = of_file | {axis: (_value(own[axis]),) for axis in of_file if axis in own}
    if DEVICE in grid and not (is_measured and DEVICE in settings.grid):
        there = _devices(stage, site)
        # What is no device at all is refused with every other wrong value.
        absent = [one for one in get_args(Device) if one in grid[DEVICE] and one not in there]
        kept = tuple(device for device in grid[DEVICE] if device not in absent)
        if not is_measured:
            return grid | {DEVICE: kept or grid[DEVICE]}
        grid[DEVICE] = kept
        where = "this machine" if site is None else f"the site {site.name}"
        if absent and not grid[DEVICE]:
            raise UserError(
                f"the suite {suite.name} measures only on {' and '.join(absent)}, which {where} "
                "lacks: choose another device by --device"
            )
        if absent:
            talk(f"left out of the suite {suite.name}, as {where} has none: {listing(absent)}")
    return grid


def _value(given: JsonValue) -> GridValue:
    """A stage parameter as the only value of its axis; what is no single value is told of later."""
    if given is None:
        return WHOLE
    return given if isinstance(given, bool | int | float | str) else str(given)


def _devices(stage: Stage, site: Site | None) -> set[Device]:
    """Devices that tasks of a stage will find."""
    if site is not None:
        is_there = speaks_of_gpus(site, stage.name) and asked_at(site, stage.name, "cuda").gpus != 0
        return {"cpu", "cuda"} if is_there else {"cpu"}
    found: set[Device] = {"cpu"}
    if visible_gpus():
        found.add("cuda")
    if is_apple_silicon():
        found.add("mps")
    return found


def _cores_of(site: Site | None) -> Cores:
    def cores(stage: Stage, device: Device) -> int:
        if site is None:
            # A second hardware thread of a core is no second core.
            return len(first_threads(usable_cpus()))
        cpus = asked_at(site, stage.name, device).cpus
        if cpus is None:
            raise UserError(
                f"{THREADS} = {ALL_CORES} needs the cores of a task of {stage.name} on {device}, "
                f"which the site {site.name} does not set: use --cpus-per-worker, or set cpus in "
                "its file"
            )
        return cpus

    return cores


BRIEF = "system_brief"
"""The suite whose entries are added."""


def with_system(suite: Suite, settings: Settings, site: Site | None) -> Suite:
    """Put the entries of the brief suite of the machine before those of a suite of another kind."""
    if suite.data == "place":
        return suite
    # Values that were chosen are those of the suite's own grid.
    brief = measured_suite(load_suite(BRIEF), settings.model_copy(update={"grid": {}}), site)
    twice = sorted(brief.stages.keys() & suite.stages.keys())
    if twice:
        raise UserError(
            f"the suite {suite.name} has an entry {twice[0]!r}, a name that --with-system also "
            "adds: rename the entry, or leave --with-system out"
        )
    return suite.model_copy(update={"stages": {**brief.stages, **suite.stages}})


def without_system(suite: Suite) -> Suite:
    """The suite to which `with_system` added its entries."""
    own = {entry: step for entry, step in suite.stages.items() if entry not in suite.measured_once}
    return suite.model_copy(update={"stages": own})

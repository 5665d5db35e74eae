"""The expansion of a suite into trials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from pyscale.errors import UserError
from pyscale.planning.grid import compares_trials
from pyscale.planning.plan import OwnData, Plan, Trial
from pyscale.planning.planentry import Dataset, EntryPlan, Sources
from pyscale.planning.sites import Site
from pyscale.planning.suite import Suite, load_suite, suite_names
from pyscale.planning.sweep import Sweep, block_order, feeding
from pyscale.planning.traits import DATA, measures_alone, shares_result
from pyscale_stages.contract import Device
from pyscale_stages.errors import BadInput
from pyscale_stages.registry import load_stage, stage_names
from pyscale_stages.wording import did_you_mean, plural

CROP = "length_px"
"""Parameter that crops a square of that length from every frame."""


def make_plan(
    suite: Suite,
    dataset: Dataset | None,
    *,
    run_id: str,
    settings: dict[str, Any],
    workers: Sequence[int],
    only: Sequence[str] = (),
    site: Site | None = None,
    own_data: Mapping[str, Dataset] | None = None,
) -> Plan:
    """Expand an unfolded suite into trials, in blocks.

    Entries that feed those named in `only` run once, and what measures the machine beside a movie
    stays, unless some of that is named. `own_data` are the datasets that entries name for
    themselves.
    """
    own_data = own_data or {}
    datasets: dict[str | None, Dataset | None] = {None: dataset}
    datasets.update(own_data.items())
    sweeps = {name: _sweep(suite, one, settings, tuple(workers)) for name, one in datasets.items()}
    sweep = sweeps[None]
    _refuse_unknown_stages(
        suite, only, {"parameters": settings["stages"], "an image": settings["images"]}
    )
    measured = _measured(suite, only)
    place = None
    if suite.entries_that(measures_alone):
        # One folder for all tasks, wherever they run.
        place = Path(settings["path"] or settings["runs_folder"]).expanduser().absolute()
    entries: dict[str, EntryPlan] = {}
    for entry in suite.stages:
        name = suite.data_of(entry)
        if name not in datasets:
            continue  # Nothing that is measured needs it.
        entries[entry] = EntryPlan.of(
            suite,
            entry,
            Sources(datasets[name], place),
            sweeps[name],
            settings,
            earlier=entries,
        )
    on_one_node = site is not None and site.scheduler is not None
    repeats, seed = settings["repeats"], settings["seed"]
    trials = tuple(
        entries[entry].scaled.trial(n, block, _beside(suite, entry, block, repeats, measured))
        for block in range(1, repeats + 1)
        for entry, n in block_order(suite, measured, sweep, block, seed, base_first=repeats == 1)
    )
    for name, one in datasets.items():
        if one is not None and one.shape_yx is not None:
            _refuse_larger_than_frames(one, one.shape_yx, (t for t in trials if t.data == name))
    return Plan(
        run_id=run_id,
        suite=suite,
        settings=settings | {"device": _main_device(suite, measured, settings["device"])},
        movie=dataset.movie if dataset else None,
        movie_frames=dataset.frames if dataset else 0,
        frame_yx=dataset.shape_yx if dataset else None,
        place=place,
        reading=dataset.reading if dataset else None,
        inventory=dataset.inventory if dataset else None,
        truth=dataset.own_truth if dataset else None,
        unjudged=tuple(
            f"No quality of {entry} against the truth: {entries[entry].unjudged}."
            for entry in suite.stages
            if entry in measured and entries[entry].unjudged
        ),
        own_data=tuple(
            OwnData(
                data=name,
                movie=o.movie,
                frames=o.frames,
                reading=o.reading,
                inventory=o.inventory,
                truth=o.own_truth,
            )
            for name, o in own_data.items()
        ),
        site=None if on_one_node else site,
        queue=site if on_one_node else None,
        baseline_workers=workers[0],
        trials=trials,
    )


def _sweep(
    suite: Suite, dataset: Dataset | None, settings: dict[str, Any], workers: tuple[int, ...]
) -> Sweep:
    if suite.data == "slides" and dataset is not None and max(workers) > dataset.frames:
        raise UserError(
            f"each of {max(workers)} ranks needs at least one slide, but {dataset.movie} has "
            f"{plural(dataset.frames, 'slide')}: use fewer --workers, or add slides"
        )
    if DATA[suite.data].given or dataset is None:
        return Sweep.without_frames(suite.data, workers)
    sweep = Sweep(settings["scaling"], workers, dataset.frames, suite.frames_per_worker)
    if not suite.shares_no_frames:
        sweep.refuse_too_short(dataset.movie.name, suite.unit)
    return sweep


def _measured(suite: Suite, only: Sequence[str]) -> set[str]:
    """Entries to measure, of those that were named."""
    if not only:
        return {*suite.stages}
    steps = suite.stages.items()
    named = {entry for entry, step in steps if {entry, step.family} & {*only}}
    # It was asked for beside the stages of the suite, and they are what is chosen from.
    return named if named & suite.measured_once else named | suite.measured_once


def own_data_of(suite: Suite, only: Sequence[str]) -> tuple[str, ...]:
    """Datasets of their own that the entries which are measured, or feed those, name."""
    needed = _measured(suite, only)
    needed |= feeding(suite, needed)
    names = (suite.data_of(entry) for entry in suite.stages if entry in needed)
    return tuple(dict.fromkeys(filter(None, names)))


def _beside(suite: Suite, entry: str, block: int, repeats: int, measured: Set[str]) -> str | None:
    """Entry whose output at the same N that of a trial is set beside."""
    # The same work gives the same in every block. Of versions it is compared one block later, which
    # leaves their order to chance: one that always ran first would pay for a slow start.
    which = min(2, repeats) if compares_trials(suite) else 1
    other = suite.stages[entry].beside if block == which else None
    return other if other in measured else None


def _refuse_unknown_stages(
    suite: Suite, only: Sequence[str], overrides: Mapping[str, Mapping[str, object]]
) -> None:
    """Refuse misspelt names; settings may name stages that another suite has."""
    here = {*suite.stages} | {step.family for step in suite.stages.values() if step.family}
    for name in only:
        if name not in here:
            raise UserError(
                f"the suite {suite.name} has no stage {name!r}; {did_you_mean(name, here)}"
            )
    known = {*here, *stage_names()}
    for what, names in overrides.items():
        for name in names:
            # Only a name of neither makes it worth reading every suite.
            if name not in known:
                known = known.union(*(load_suite(other).stages for other in suite_names()))
            if name not in known:
                raise UserError(
                    f"the settings give {what} to a stage {name!r} that no suite has; "
                    f"{did_you_mean(name, known)}"
                )


def _main_device(suite: Suite, measured: Set[str], of_run: Device) -> Device:
    """The device by which a run is called: what was asked for, unless every entry has its own."""
    own = measured - suite.measured_once or measured
    devices = [step.device for entry, step in suite.stages.items() if entry in own]
    if None in devices:
        return of_run
    return next((device for device in devices if device and device != "cpu"), "cpu")


def _refuse_larger_than_frames(
    dataset: Dataset, shape_yx: tuple[int, int], trials: Iterable[Trial]
) -> None:
    """Raise where a square crop would not fit into the frames."""
    most, (rows, columns) = min(shape_yx), shape_yx
    lengths = {trial.params.get(CROP) for trial in trials}
    asked = sorted(length for length in lengths if isinstance(length, int))
    if asked and asked[-1] > most:
        fitting = ",".join([*(str(length) for length in asked if length <= most), "full"])
        raise UserError(
            f"frames of {dataset.movie.name} have {rows} x {columns} pixels, so no {asked[-1]} x "
            f"{asked[-1]} can be cropped from them: ask for --grid {CROP}={fitting}, or name a "
            "dataset with larger frames by --data"
        )


def warn_of_too_many_workers(plan: Plan) -> Iterator[str]:
    """Name what will fail, as its work cannot be shared by so many, where other work can."""
    shared = plan.entries_that(shares_result)
    trials = [trial for trial in plan.trials if trial.entry in shared and trial.block == 1]
    failing = {}
    for trial in trials:
        stage = load_stage(trial.stage)
        try:
            stage.refuse_workers(stage.params.model_validate(trial.params), trial.workers)
        except BadInput as refused:
            failing[trial.id] = str(refused)
    for count in sorted({trial.workers for trial in trials}):
        own = [trial for trial in trials if trial.workers == count]
        if all(trial.id in failing for trial in own):
            raise UserError(f"{own[0].entry}: {failing[own[0].id]}")
    for trial in sorted(trials, key=lambda one: (one.entry, one.workers)):
        if trial.id in failing:
            yield f"{trial.entry} will fail with N = {trial.workers}: {failing[trial.id]}"

"""The plan that is examined, and those of its trials that ask for different parts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from pyscale.planning.plan import Plan, Trial
from pyscale.planning.planentry import Dataset
from pyscale.planning.planner import make_plan
from pyscale.planning.resolve_grid import measured_suite, with_system
from pyscale.planning.suite import load_suite
from pyscale.planning.sweep import powers_of_two
from pyscale.runtimes.starting import with_images
from pyscale.settings import Settings
from pyscale_stages.contract import Stage
from pyscale_stages.libraries import top_level
from pyscale_stages.measure.cpus import first_threads, usable_cpus
from pyscale_stages.registry import load_stage


def plan_to_examine(suite_name: str, settings: Settings) -> Plan:
    """The plan of a run of a suite on this machine; its data need not be there."""
    suite = measured_suite(load_suite(suite_name), settings, None)
    fitting = len(first_threads(usable_cpus())) // settings.cpus_per_worker
    alone = suite.data == "place"
    workers = settings.workers or ((1,) if alone else powers_of_two(max(1, fitting)))
    dataset, own_data = None, {}
    if suite.reads_data:
        # As many as the largest N needs: no file is opened, as none need be there.
        frames = max(workers) * (suite.frames_per_worker or 1)
        dataset = Dataset(movie=Path(settings.data), frames=frames)
        own_data = {
            name: Dataset(movie=Path(name), frames=frames, truth=Path(name))
            for name in suite.own_data
        }
    if settings.with_system:
        suite = with_system(suite, settings, None)
    plan = make_plan(
        suite,
        dataset,
        run_id="doctor",
        settings=settings.model_dump(mode="json"),
        workers=workers,
        own_data=own_data,
    )
    return with_images(plan)


def folder_of(plan: Plan, setting: str) -> Path:
    """A folder that a setting of the plan names."""
    return Path(plan.settings[setting]).absolute()


def firsts(plan: Plan) -> list[Trial]:
    """The first trial of each entry, in the order of the suite."""
    # Backwards, so that the first trial of each entry is the one that stays.
    first = {trial.entry: trial for trial in reversed(plan.trials)}
    return [first[entry] for entry in plan.suite.stages if entry in first]


def distinct(plan: Plan) -> list[Trial]:
    """Trials that need different parts; the first of those that need the same."""
    kept: dict[str, Trial] = {}
    for trial in firsts(plan):
        deciding = [trial.params.get(name) for name in load_stage(trial.stage).needs.deciding]
        runs_in = [trial.image, str(trial.interpreter)]
        kept.setdefault(json.dumps([trial.stage, trial.device, runs_in, deciding]), trial)
    return list(kept.values())


def is_native(trial: Trial) -> bool:
    """Whether a trial's stage runs in this very environment."""
    return trial.image is None and trial.interpreter is None


def absent_packages(stage: Stage, params: Mapping[str, object]) -> list[str]:
    """Packages that a stage imports with given parameters and that are not installed here."""
    return [name for name in top_level(stage.libraries(params)[0]) if find_spec(name) is None]

"""How long trials took in earlier runs of the same work, at the same place."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path

from pyscale.errors import UserError
from pyscale.pace import pace_of
from pyscale.plan import Plan, Trial
from pyscale.store.folder import RunFolder, run_folders
from pyscale.store.journal import Event, Journal
from pyscale_stages.measure.nodename import host_name

ALIKE = ("executor", "runtime", "cache", "cpus_per_worker", "site", "allocation")
"""Settings that must be the same, as a trial takes another time where they differ."""
MOST_RUNS = 20
"""Runs that are read, from the newest."""


def usual_s(plan: Plan) -> dict[str, float]:
    """Median seconds of each trial of a plan in earlier runs of its folder, where they had it."""
    wanted = {_work(plan, trial) for trial in plan.trials}
    durations_s: dict[Hashable, list[float]] = defaultdict(list)
    for path in run_folders(Path(plan.settings["runs_folder"]))[: -MOST_RUNS - 1 : -1]:
        with suppress(UserError):
            run = RunFolder(path)
            events = Journal(run.journal_file).read()
            if run.plan.run_id == plan.run_id or not _is_alike(plan, run.plan, events):
                continue
            pace = pace_of(events)
            for trial in run.plan.trials:
                if trial.id in pace.durations_s and _work(run.plan, trial) in wanted:
                    durations_s[_work(run.plan, trial)].append(pace.durations_s[trial.id])
    usual = {work: statistics.median(own) for work, own in durations_s.items()}
    works = {trial.id: _work(plan, trial) for trial in plan.trials}
    return {trial: usual[work] for trial, work in works.items() if work in usual}


def _is_alike(plan: Plan, other: Plan, events: list[Event]) -> bool:
    if any(plan.settings.get(name) != other.settings.get(name) for name in ALIKE):
        return False
    # A cluster's jobs go to any of its nodes, and another machine may write to the same folder.
    return plan.site is not None or any(
        event.kind == "run_started" and event.detail.endswith(f" on {host_name()}")
        for event in events
    )


def _work(plan: Plan, trial: Trial) -> Hashable:
    """What tells whether two trials should take the same time."""
    movie = next((own.movie for own in plan.own_data if own.data == trial.data), plan.movie)
    fed = tuple(item.slot for item in trial.inputs)
    same = (trial.stage, fed, trial.workers, trial.windows, trial.device, plan.threads_of(trial))
    return (*same, str(movie), trial.image, json.dumps(trial.params, sort_keys=True))

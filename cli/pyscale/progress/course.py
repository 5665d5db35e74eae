"""The course of a run by the events of its journal, and how long its trials took in others."""

from __future__ import annotations

import json
import re
import statistics
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from pyscale.errors import UserError
from pyscale.planning.plan import Plan, Trial
from pyscale.store.folder import RunFolder, run_folders
from pyscale.store.journal import Event, EventKind, Journal
from pyscale_stages.measure.nodename import host_name

ENDS: dict[EventKind, Literal["done", "failed", "skipped"]] = {
    "trial_finished": "done",
    "trial_failed": "failed",
    "trial_skipped": "skipped",
}
"""Events that end a trial, and its state from then on."""
BEGINNINGS: set[EventKind] = {
    "trial_started",
    "trial_retried",
    "trial_continued",
    "trial_interrupted",
}
STARTS: set[EventKind] = {"run_started", "pilot_started"}
"""Events before which nobody worked the run off."""
COMPARABLE = ("executor", "runtime", "cache", "cpus_per_worker", "site")
"""Settings that must be the same, as a trial takes another time where they differ."""
MOST_RUNS = 20
"""Runs that are read, from the newest."""
IN_A_ROW = 3
"""Failures that stop a run, where they are alike."""


class Course:
    """Hears the events of a run, in their order, and tells what follows from all so far."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.ends: dict[str, Event] = {}
        """The event that ended each trial, where nothing began it anew."""
        self.ended: set[str] = set()
        """Trials that have ended since the run was last started."""
        self.begun: set[str] = set()
        """Trials that were begun since then."""
        self.under_way: dict[str, datetime] = {}
        """Since when trials run."""
        self.durations_s: dict[str, float] = {}
        """Seconds of finished trials, their waiting for nodes and their checks included."""
        self.allocations: set[str] = set()
        """Those that were submitted and have not ended."""
        self.worked_s = 0.0
        """Seconds in which the run was worked off, without those between two of its starts."""
        self.stopped: str | None = None
        """Why the run was stopped, if it was."""
        self._failures: dict[str, str] = {}
        self._lost: list[str] = []
        self._before: datetime | None = None
        for event in events:
            self.hear(event)

    def hear(self, event: Event) -> None:
        """Take one event into account."""
        if self._before is not None and event.kind not in STARTS:
            self.worked_s += (event.time_utc - self._before).total_seconds()
        self._before = event.time_utc
        self._hear_of_run(event.kind, event.detail)
        self._hear_of_allocation(event)
        if event.trial is not None:
            self._hear_of_trial(event.trial, event)

    def _hear_of_run(self, kind: EventKind, detail: str) -> None:
        if kind == "run_started":
            self.ended.clear()
            self.begun.clear()
            self.stopped = None
        if kind in STARTS:
            # What began before was interrupted; the time since then was nobody's work.
            self.under_way.clear()
        if kind in {"run_started", "trial_finished"}:
            self._failures.clear()
            self._lost.clear()
        if kind == "run_stopped":
            self.stopped = detail

    def _hear_of_allocation(self, event: Event) -> None:
        if event.kind == "allocation_submitted":
            self.allocations |= set(event.job_ids)
        elif event.kind == "allocation_ended":
            self.allocations -= set(event.job_ids)
            self._lost.append(event.detail)
        elif event.kind in {"run_finished", "run_cancelled", "run_stopped"}:
            self.allocations.clear()

    def _hear_of_trial(self, trial: str, event: Event) -> None:
        if event.kind in BEGINNINGS:
            self.ends.pop(trial, None)
            self.ended.discard(trial)
            self.begun.add(trial)
        if event.kind in ENDS:
            self.ends[trial] = event
            self.ended.add(trial)
        if event.kind == "trial_started":
            self.under_way[trial] = event.time_utc
        elif event.kind == "trial_finished" and trial in self.under_way:
            lasted = event.time_utc - self.under_way.pop(trial)
            self.durations_s[trial] = lasted.total_seconds()
        elif event.kind == "trial_failed":
            self.under_way.pop(trial, None)
            # The last try of a trial counts, and its place is that of the last.
            self._failures.pop(trial, None)
            self._failures[trial] = event.detail

    @property
    def why_stop(self) -> str | None:
        """Why the run is to be stopped: failures of one kind repeat; None where it is not."""
        for what, failures in (
            ("trials failed", list(self._failures.values())),
            ("allocations ended", self._lost),
        ):
            last = failures[-IN_A_ROW:]
            # Numbers are those of jobs, nodes and tasks.
            alike = {re.sub(r"\d+", "#", failure) for failure in last}
            if len(last) == IN_A_ROW and len(alike) == 1:
                return (
                    f"{IN_A_ROW} {what} alike in a row without one finished trial ({last[-1]}): "
                    "mend that, then resume the run"
                )
        return None

    def median_s(self, trials: Collection[Trial]) -> float | None:
        """Median seconds of those of the trials that have finished."""
        known = [self.durations_s[trial.id] for trial in trials if trial.id in self.durations_s]
        return statistics.median(known) if known else None

    def expected_s(
        self, trials: Collection[Trial], earlier_s: Mapping[str, float] = MappingProxyType({})
    ) -> dict[str, float]:
        """Seconds that trials should take, as others of their configuration or in earlier runs."""
        known = [*self.durations_s.values(), *earlier_s.values()]
        if not known:
            return {}
        overall = statistics.median(known)
        alike: dict[str, list[float]] = defaultdict(list)
        for trial, duration_s in self.durations_s.items():
            alike[_configuration(trial)].append(duration_s)
        usual = {name: statistics.median(values) for name, values in alike.items()}
        return {
            trial.id: usual.get(_configuration(trial.id), earlier_s.get(trial.id, overall))
            for trial in trials
        }

    def longest_s(self, trials: Collection[Trial]) -> float | None:
        """Seconds of trials that each last as the longest of their configuration; None: unknown."""
        seen: dict[str, float] = {}
        for trial, duration_s in self.durations_s.items():
            name = _configuration(trial)
            seen[name] = max(seen.get(name, 0.0), duration_s)
        known = [seen.get(_configuration(trial.id)) for trial in trials]
        return None if None in known else sum(s for s in known if s is not None)

    def left_s(
        self,
        remaining: Collection[Trial],
        now: datetime,
        earlier_s: Mapping[str, float] = MappingProxyType({}),
    ) -> float | None:
        """Seconds until the remaining trials have run, one after the other."""
        expected_s = self.expected_s(remaining, earlier_s)
        if not (self.durations_s or earlier_s):
            return None
        ran_s = {trial: (now - since).total_seconds() for trial, since in self.under_way.items()}
        return sum(max(0.0, s - ran_s.get(trial, 0.0)) for trial, s in expected_s.items())


def _configuration(trial_id: str) -> str:
    # An id ends with its block, as in segment-n2-b3.
    return trial_id.rpartition("-b")[0]


def usual_s(plan: Plan) -> dict[str, float]:
    """Median seconds of each trial of a plan in earlier runs of its folder, where they had it."""
    wanted = {_work(plan, trial) for trial in plan.trials}
    durations_s: dict[Hashable, list[float]] = defaultdict(list)
    for path in run_folders(Path(plan.settings["runs_folder"]))[: -MOST_RUNS - 1 : -1]:
        with suppress(UserError):
            run = RunFolder(path)
            events = Journal(run.journal_file).read()
            if run.plan.run_id == plan.run_id or not _is_comparable(plan, run.plan, events):
                continue
            took_s = Course(events).durations_s
            for trial in run.plan.trials:
                if trial.id in took_s and _work(run.plan, trial) in wanted:
                    durations_s[_work(run.plan, trial)].append(took_s[trial.id])
    usual = {work: statistics.median(own) for work, own in durations_s.items()}
    works = {trial.id: _work(plan, trial) for trial in plan.trials}
    return {trial: usual[work] for trial, work in works.items() if work in usual}


def _is_comparable(plan: Plan, other: Plan, events: list[Event]) -> bool:
    if any(plan.settings.get(name) != other.settings.get(name) for name in COMPARABLE):
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

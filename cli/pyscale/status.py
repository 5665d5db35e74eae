"""Where a run stands: derived from its plan, its records and its journal."""

from __future__ import annotations

import statistics
from collections import Counter
from datetime import UTC, datetime
from typing import Literal

from pydantic import Field

from pyscale.plan import Trial
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Event, Journal
from pyscale.store.lock import is_locked
from pyscale.store.records import read_task
from pyscale_stages.contract import Record

RunState = Literal["planned", "running", "complete", "incomplete", "interrupted", "cancelled"]


class RunningTask(Record):
    """A task that runs now."""

    trial: str
    task: str
    node: str
    elapsed_s: float


class ConfigurationStatus(Record):
    """How far the trials of one configuration are."""

    entry: str
    workers: int
    done: int
    failed: int
    total: int
    median_s: float | None = Field(
        None, description="Median from start to end of a trial, its check included"
    )


class RunStatus(Record):
    """Where a run stands at one moment."""

    run_id: str
    suite: str
    state: RunState
    configurations: tuple[ConfigurationStatus, ...]
    running: tuple[RunningTask, ...]
    failures: tuple[str, ...] = Field(description="Each failed or skipped trial with its reason")
    eta_s: float | None = Field(None, description="Time to the end at the pace of what is done")


def run_status(run: RunFolder) -> RunStatus:
    """Read where a run stands, without disturbing it."""
    events = Journal(run.journal_file).read()
    ends = _last_ends(events)
    durations = _durations(events)
    locked = is_locked(run.path)
    done = {trial for trial, event in ends.items() if event.kind == "trial_finished"}
    failed = {trial for trial, event in ends.items() if event.kind != "trial_finished"}
    remaining = [trial for trial in run.plan.trials if trial.id not in ends]
    return RunStatus(
        run_id=run.plan.run_id,
        suite=run.plan.suite.name,
        state=_state(run, events, locked, len(done)),
        configurations=_configurations(run, done, failed, durations),
        running=tuple(_running(run, remaining)) if locked else (),
        failures=tuple(
            f"{trial}: {ends[trial].detail}"
            for trial in (t.id for t in run.plan.trials)
            if trial in failed
        ),
        eta_s=_eta_s(remaining, durations) if locked else None,
    )


def _last_ends(events: list[Event]) -> dict[str, Event]:
    """The event that ended each trial, where nothing began it anew."""
    ends: dict[str, Event] = {}
    for event in events:
        if event.trial is None:
            continue
        if event.kind in {"trial_finished", "trial_failed", "trial_skipped"}:
            ends[event.trial] = event
        elif event.kind in {
            "trial_started",
            "trial_retried",
            "trial_continued",
            "trial_interrupted",
        }:
            ends.pop(event.trial, None)
    return ends


def _durations(events: list[Event]) -> dict[str, float]:
    """Seconds from start to end of each finished trial."""
    started: dict[str, datetime] = {}
    durations = {}
    for event in events:
        if event.kind == "run_started":
            # What began before was interrupted; the time since then was nobody's work.
            started.clear()
        if event.trial is None:
            continue
        if event.kind == "trial_started":
            started[event.trial] = event.time_utc
        elif event.kind == "trial_finished" and event.trial in started:
            durations[event.trial] = (event.time_utc - started[event.trial]).total_seconds()
    return durations


def _state(run: RunFolder, events: list[Event], locked: bool, done: int) -> RunState:
    if done == len(run.plan.trials):
        return "complete"
    if locked:
        return "running"
    last = events[-1].kind if events else None
    if last is None:
        return "planned"
    if last == "run_finished":
        return "incomplete"
    return "cancelled" if last == "run_cancelled" else "interrupted"


def _configurations(
    run: RunFolder, done: set[str], failed: set[str], durations: dict[str, float]
) -> tuple[ConfigurationStatus, ...]:
    trials: dict[tuple[str, int], list[Trial]] = {}
    for entry in run.plan.suite.stages:
        for trial in sorted(run.plan.trials, key=lambda t: t.workers):
            if trial.entry == entry:
                trials.setdefault((entry, trial.workers), []).append(trial)
    return tuple(
        ConfigurationStatus(
            entry=entry,
            workers=workers,
            done=sum(trial.id in done for trial in group),
            failed=sum(trial.id in failed for trial in group),
            total=len(group),
            median_s=_median([durations[t.id] for t in group if t.id in durations]),
        )
        for (entry, workers), group in trials.items()
    )


def _running(run: RunFolder, remaining: list[Trial]) -> list[RunningTask]:
    now = datetime.now(UTC)
    found = []
    for trial in remaining:
        if not run.trial(trial).is_dir():
            continue
        for task in trial.tasks:
            record = read_task(run.task(trial, task))
            if record.state == "running" and record.launch:
                elapsed_s = (now - record.launch.spawn_utc).total_seconds()
                found.append(
                    RunningTask(
                        trial=trial.id, task=task, node=record.launch.node, elapsed_s=elapsed_s
                    )
                )
    return found


def _eta_s(remaining: list[Trial], durations: dict[str, float]) -> float | None:
    """Remaining trials at the median pace of their configuration, or of all that is known."""
    if not durations:
        return None
    overall = statistics.median(durations.values())
    by_configuration: dict[str, list[float]] = {}
    for trial, wall_s in durations.items():
        by_configuration.setdefault(trial.rpartition("-b")[0], []).append(wall_s)
    counts = Counter(trial.id.rpartition("-b")[0] for trial in remaining)
    return sum(
        count * statistics.median(by_configuration.get(configuration, [overall]))
        for configuration, count in counts.items()
    )


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None

"""State of a run: from its plan, its records, its journal and, on a cluster, from Slurm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal

from pydantic import Field

from pyscale.planning.plan import Trial
from pyscale.processes import started_for
from pyscale.progress.course import ENDS, Course
from pyscale.progress.runqueue import AllocationStatus, RunQueue, allocation_states
from pyscale.progress.taskstatus import TaskReader, TrialState, TrialStatus
from pyscale.sbatch.queued import is_alive
from pyscale.store.allocations import is_followed, read_allocations
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Event, Journal
from pyscale.store.lock import is_locked
from pyscale.store.taskfiles import RecordError
from pyscale_stages.contract import Record

RunState = Literal[
    "planned", "queued", "running", "complete", "incomplete", "interrupted", "cancelled"
]

MOST_TASKS = 20
"""Tasks of a trial that a person is shown one by one."""
LEFT: frozenset[RunState] = frozenset(["interrupted", "cancelled", "incomplete"])
"""States of a run that nobody attends to and that is not complete."""


class ConfigurationStatus(Record):
    """How far the trials of one configuration are."""

    entry: str
    family: str | None = Field(None, description="Entry with a grid that it is a point of")
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
    trials: tuple[TrialStatus, ...] = Field(description="Those under way, or all where asked for")
    allocations: tuple[AllocationStatus, ...] = Field(
        (), description="Jobs that hold nodes for all trials, in the order of their submission"
    )
    slurm_complaint: str | None = Field(None, description="Why Slurm did not answer")
    failures: tuple[str, ...] = Field(
        description="Each failed, skipped or unreadable trial with its reason"
    )
    eta_s: float | None = Field(None, description="Time to the end at the pace of what is done")
    left_running: tuple[int, ...] = Field(
        (), description="Processes here that outlived the pyscale that started them"
    )


def run_status(run: RunFolder, *, all_tasks: bool = False) -> RunStatus:
    """Read where a run stands; with `all_tasks` every task, else the most important under way."""
    return StatusReader(run, all_tasks=all_tasks).read()


class StatusReader:
    """Reads where a run stands, again and again, without disturbing it."""

    def __init__(self, run: RunFolder, *, all_tasks: bool = False) -> None:
        self._run = run
        self._all = all_tasks
        self._tasks = TaskReader(run, None if all_tasks else MOST_TASKS)
        self._unreadable: dict[str, str] = {}
        self._queue = RunQueue(run.plan) if run.plan.site is not None else None

    def read(self) -> RunStatus:
        """Where the run stands now."""
        # Each is asked before what it must not be older than: a pyscale that ends writes its
        # last event first, and a job its last record.
        attended, events = self._attended()
        course = Course(events)
        ends = course.ends
        state = _state(self._run, events, course, attended=attended)
        queue = None
        if self._queue is not None and state not in {"planned", "complete"}:
            queue = self._queue.now()
        plan = self._run.plan
        allocations = allocation_states(read_allocations(self._run.path).jobs, events, queue)
        ended = all(one.state == "ended" for one in allocations)
        answered = queue is not None and queue.complaint is None
        if state == "queued" and ended and answered and not is_followed(self._run.path):
            state = "interrupted"
        if state == "queued" and plan.queue is not None:
            state = "queued" if is_alive(plan.queue, allocations[-1].job_id) else "interrupted"
        self._unreadable = {}
        # Where Slurm is silent a job may still live.
        worked_off = attended or any(one.state != "ended" for one in allocations)
        trials = tuple(self._trials(ends, worked_off=worked_off))
        remaining = [trial for trial in plan.trials if trial.id not in ends]
        return RunStatus(
            run_id=plan.run_id,
            suite=plan.suite.name,
            state=state,
            configurations=_configurations(self._run, course),
            trials=trials,
            allocations=allocations,
            slurm_complaint=queue.complaint if queue else None,
            failures=(
                *(
                    f"{trial.id}: {ends[trial.id].detail}"
                    for trial in plan.trials
                    if trial.id in ends and ends[trial.id].kind != "trial_finished"
                ),
                *(f"{trial}: {sentence}" for trial, sentence in self._unreadable.items()),
            ),
            eta_s=course.left_s(remaining, datetime.now(UTC)) if attended and remaining else None,
            left_running=tuple(process.pid for process in started_for(self._run.path))
            if state in LEFT
            else (),
        )

    def state(self) -> RunState:
        """Where the run stands now, in a word, without asking Slurm."""
        attended, events = self._attended()
        return _state(self._run, events, Course(events), attended=attended)

    def _attended(self) -> tuple[bool, Sequence[Event]]:
        """Whether a living pyscale writes the run, and the journal."""
        journal = Journal(self._run.journal_file)
        attended, events = is_locked(self._run.path), journal.read()
        # Until the journal stands still: a run that begins meanwhile is not an interrupted one.
        while not attended:
            attended, before, events = is_locked(self._run.path), events, journal.read()
            if events == before:
                break
        return attended, events

    def _trials(self, ends: Mapping[str, Event], *, worked_off: bool) -> list[TrialStatus]:
        """The trials to tell of."""
        found = []
        for trial in self._run.plan.trials:
            end = ends.get(trial.id)
            state: TrialState = ENDS[end.kind] if end else "planned"
            if state == "planned" and self._run.trial(trial).is_dir():
                state = "under way"
            # On this machine nothing outlives pyscale, and jobs of a cluster do.
            alive = state == "under way" and (worked_off or self._run.plan.site is not None)
            if not (self._all or alive):
                continue
            try:
                found.append(self._tasks.read(trial, state, worked_off=worked_off))
            except RecordError as error:
                self._unreadable[trial.id] = str(error)
        return found


def _state(run: RunFolder, events: Sequence[Event], course: Course, *, attended: bool) -> RunState:
    # All trials may have ended, and the report not be written yet.
    if attended:
        return "running"
    done = sum(event.kind == "trial_finished" for event in course.ends.values())
    if done == len(run.plan.trials):
        return "complete"
    if not events:
        return "planned"
    if events[-1].kind in {"run_finished", "run_stopped"}:
        return "incomplete"
    if events[-1].kind == "run_cancelled":
        return "cancelled"
    # Who follows the run submits the next allocation.
    if course.allocations or is_followed(run.path):
        return "queued"
    return "interrupted"


def _configurations(run: RunFolder, course: Course) -> tuple[ConfigurationStatus, ...]:
    groups: dict[tuple[str, int], list[Trial]] = {}
    for entry in run.plan.suite.stages:
        for trial in sorted(run.plan.trials, key=lambda t: t.workers):
            if trial.entry == entry:
                groups.setdefault((entry, trial.workers), []).append(trial)
    rows = []
    for (entry, workers), trials in groups.items():
        kinds = [course.ends[one.id].kind for one in trials if one.id in course.ends]
        done = kinds.count("trial_finished")
        rows.append(
            ConfigurationStatus(
                entry=entry,
                family=run.plan.suite.stages[entry].family,
                workers=workers,
                done=done,
                failed=len(kinds) - done,
                total=len(trials),
                median_s=course.median_s(trials),
            )
        )
    return tuple(rows)

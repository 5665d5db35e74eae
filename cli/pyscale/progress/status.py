"""State of a run: from its plan, its records, its journal and, on a cluster, from Slurm."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from pydantic import AwareDatetime, Field

from pyscale.planning.plan import Trial
from pyscale.processes import started_for
from pyscale.progress.course import ENDS, Course
from pyscale.progress.taskstatus import TaskReader, TrialState, TrialStatus
from pyscale.sbatch.held import is_alive
from pyscale.slurm.queue import QueuedJob, SlurmSilent, job_name, jobs_named, why_it_waits
from pyscale.store.allocations import Allocated, is_followed, read_allocations
from pyscale.store.folder import RunFolder
from pyscale.store.journal import Event, Journal
from pyscale.store.lock import is_locked
from pyscale.store.taskfiles import RecordError
from pyscale_stages.contract import Record

RunState = Literal[
    "planned", "queued", "running", "complete", "incomplete", "interrupted", "cancelled"
]

PERIOD_S = 5.0
"""Least time between questions of one who watches: the controller is everybody's."""
WAITS = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
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


class AllocationStatus(Record):
    """Where one allocation of a run stands."""

    job_id: str
    state: Literal["queued", "running", "ended", "unknown"]
    nodes: str = Field(description="Nodes that it has, or how many it asked for")
    why: str = Field("", description="Why it waits, in plain words")
    starts_utc: AwareDatetime | None = Field(
        None,
        description="When Slurm plans to start it, while it waits",
    )
    left_s: float | None = Field(None, description="Time to its limit, while it runs")
    waited_s: float | None = Field(
        None, description="Wait in the queue, since the one before ended where it waits for that"
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
        self._queue: Queue | None = None
        self._asked_s = 0.0

    def read(self) -> RunStatus:
        """Where the run stands now."""
        # Each is asked before what it must not be older than: a pyscale that ends writes its
        # last event first, and a job its last record.
        attended, events = self._attended()
        course = Course(events)
        ends = course.ends
        state = _state(self._run, events, course, attended=attended)
        queue = None
        plan = self._run.plan
        if plan.site is not None and state not in {"planned", "complete"}:
            queue = self._ask(max(PERIOD_S, plan.site.poll_s))
        allocations = allocation_states(read_allocations(self._run.path).jobs, events, queue)
        ended = all(one.state == "ended" for one in allocations)
        answered = queue is not None and queue.complaint is None
        if state == "queued" and ended and answered and not is_followed(self._run.path):
            state = "interrupted"
        if state == "queued" and plan.queue is not None:
            state = "queued" if is_alive(plan.queue, allocations[-1].job_id) else "interrupted"
        self._unreadable = {}
        # Where Slurm is silent a job may still live.
        living = plan.site is not None and any(one.state != "ended" for one in allocations)
        worked_off = attended or living
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

    def _ask(self, period_s: float) -> Queue:
        """What Slurm says, or said less than a period ago."""
        if self._queue is None or time.monotonic() - self._asked_s > period_s:
            try:
                self._queue = Queue(jobs_named(job_name(self._run.plan.run_id)))
            except SlurmSilent as silent:
                self._queue = Queue(complaint=str(silent))
            # The pause begins with the answer, so that a slow controller has it too.
            self._asked_s = time.monotonic()
        return self._queue

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
    for trial in sorted(run.plan.trials, key=run.plan.place_in_pipeline):
        groups.setdefault((trial.entry, trial.workers), []).append(trial)
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


@dataclass(frozen=True)
class Queue:
    """What Slurm said of the jobs of a run at one moment."""

    jobs: Mapping[str, QueuedJob] = field(default_factory=dict)
    complaint: str | None = None
    """Why it did not answer, where it did not."""


def allocation_states(
    jobs: Sequence[Allocated], events: Sequence[Event], queue: Queue | None
) -> tuple[AllocationStatus, ...]:
    """Where the allocations of a run stand."""
    waits_s = queue_waits_s(jobs, events)
    return tuple(_state_of(job, waits_s.get(job.job_id), queue) for job in jobs)


def queue_waits_s(jobs: Sequence[Allocated], events: Sequence[Event]) -> dict[str, float]:
    """Seconds until the pilot started, from submission or the end of the job that it waited for."""
    submitted = {job.job_id: job.submit_utc for job in jobs if job.after is None}
    behind = {job.after: job.job_id for job in jobs}
    waits_s: dict[str, float] = {}
    for event in events:
        if event.kind == "allocation_ended":
            free = {behind[one]: event.time_utc for one in event.job_ids if one in behind}
            submitted = free | submitted
        if event.kind != "pilot_started":
            continue
        for job_id in event.job_ids:
            # One that is put back into the queue starts twice; the first wait was for its nodes.
            if job_id in submitted and job_id not in waits_s:
                waits_s[job_id] = (event.time_utc - submitted[job_id]).total_seconds()
    return waits_s


def _state_of(job: Allocated, waited_s: float | None, queue: Queue | None) -> AllocationStatus:
    common = {"job_id": job.job_id, "waited_s": waited_s}
    if queue is None or queue.complaint is not None:
        return AllocationStatus(state="unknown", nodes=job.nodes, **common)
    known = queue.jobs.get(job.job_id)
    if known is None or not known.alive:
        return AllocationStatus(state="ended", nodes=known.node if known else job.nodes, **common)
    if known.state in WAITS:
        return AllocationStatus(
            state="queued",
            nodes=job.nodes,
            why=why_it_waits(known.reason),
            starts_utc=known.start,
            **common,
        )
    left_s = None
    if known.start is not None:
        ran_s = (datetime.now(UTC) - known.start).total_seconds()
        left_s = max(0.0, 60 * job.time_limit_min - ran_s)
    return AllocationStatus(state="running", nodes=known.node, left_s=left_s, **common)

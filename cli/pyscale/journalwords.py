"""Events of a run in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyscale.store.journal import Event, EventKind

PHRASES: dict[EventKind, str] = {
    "run_started": "the run started",
    "trial_started": "started",
    "submitted": "submitted",
    "trial_finished": "done",
    "trial_failed": "failed",
    "trial_retried": "retried",
    "trial_continued": "continued",
    "trial_taken_up": "continued from an earlier pyscale",
    "trial_skipped": "skipped",
    "queue_full": "is not queued ahead of its turn",
    "trial_interrupted": "was interrupted; it starts again",
    "jobs_ended": "ended leftovers of an earlier pyscale",
    "slurm_silent": "Slurm does not answer",
    "slurm_answers": "Slurm answers again",
    "run_interrupted": "the run was interrupted, and its tasks were ended",
    "run_cancelled": "the run was cancelled",
    "run_finished": "the run finished",
    "run_extended": "the run was extended",
    "allocation_submitted": "submitted the allocation",
    "pilot_started": "the allocation started",
    "allocation_ended": "the allocation ended",
    "run_stopped": "the run was stopped",
}
STOPS = {f"run_{end}" for end in ("interrupted", "cancelled", "finished", "extended", "stopped")}
NAME_TASKS: set[EventKind] = {"submitted", "trial_taken_up"}
"""Events whose detail is a list of tasks."""
MOST_NAMES = 4


def story(events: Sequence[Event]) -> Iterator[str]:
    """Tell each event in a line with its time."""
    started = stopped = False
    for event in events:
        words = said(event)
        if event.kind == "run_started" and started:
            lost = "" if stopped else ": the pyscale before ended without a record"
            words = f"the run was resumed{lost}{_detail(event)}"
        started = started or event.kind == "run_started"
        stopped = event.kind in STOPS
        yield f"{event.time_utc:%Y-%m-%d %H:%M:%S} UTC  {words}"


def said(event: Event) -> str:
    """Tell one event by itself."""
    words = f"{event.trial} {PHRASES[event.kind]}" if event.trial else PHRASES[event.kind]
    jobs = f" as {_shortened(event.job_ids)}" if event.job_ids else ""
    return f"{words}{_detail(event)}{jobs}"


def _detail(event: Event) -> str:
    if not event.detail:
        return ""
    if event.kind in NAME_TASKS:
        return f": {_shortened(event.detail.split(', '))}"
    return f": {event.detail}"


def _shortened(names: Sequence[str]) -> str:
    """First and last of many names, and how many there are."""
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    return f"{names[0]} … {names[-1]} ({len(names)})"

"""The journal: events of a run, as append-only lines that survive a crash."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from os import SEEK_END, fsync
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, Field, ValidationError

from pyscale.errors import UserError
from pyscale_stages.atomic import naming
from pyscale_stages.contract import Record

EventKind = Literal[
    "run_started",
    "trial_started",
    "submitted",
    "trial_finished",
    "trial_failed",
    "trial_retried",
    "trial_continued",
    "trial_skipped",
    "trial_interrupted",
    "jobs_ended",
    "slurm_silent",
    "slurm_answers",
    "run_interrupted",
    "run_cancelled",
    "run_finished",
    "run_extended",
    "allocation_submitted",
    "pilot_started",
    "allocation_ended",
    "run_stopped",
]


class Event(Record):
    """One line of the journal."""

    time_utc: AwareDatetime
    kind: EventKind
    trial: str | None = None
    job_ids: tuple[str, ...] = ()
    detail: str = Field("", description="In plain words")


Listener = Callable[[Event], None]


class Journal:
    """Appends events to a file and reads them back; listeners hear of each that is written."""

    def __init__(self, path: Path, *listeners: Listener) -> None:
        self._path = path
        self._listeners = listeners

    def append(
        self,
        kind: EventKind,
        trial: str | None = None,
        job_ids: tuple[str, ...] = (),
        detail: str = "",
    ) -> None:
        """Write one event so that it survives the death of this process and of the node."""
        event = Event(
            time_utc=datetime.now(UTC), kind=kind, trial=trial, job_ids=job_ids, detail=detail
        )
        # A line torn by a crash would swallow the next one, so each event starts on its own.
        prefix = "" if self._ends_whole() else "\n"
        line = prefix + event.model_dump_json(exclude_defaults=True) + "\n"
        with naming(self._path), self._path.open("a", encoding="utf-8") as journal:
            journal.write(line)
            journal.flush()
            fsync(journal.fileno())
        for listener in self._listeners:
            listener(event)

    def read(self) -> list[Event]:
        """All whole events in order; a line torn by a crash is passed over."""
        return self.read_from(0)[0]

    def read_from(self, offset: int) -> tuple[list[Event], int]:
        """Whole events from a byte of the file on, and the byte after the last of them."""
        try:
            with self._path.open("rb") as journal:
                journal.seek(offset)
                text = journal.read()
        except FileNotFoundError:
            return [], offset
        except OSError as error:
            raise UserError(
                f"{self._path} cannot be read ({error.strerror}): make it a readable file"
            ) from error
        events, position, read = [], offset, offset
        for line in text.splitlines(keepends=True):
            position += len(line)
            try:
                events.append(Event.model_validate_json(line))
            except ValidationError:
                # Not counted as read: its writer may still be at it.
                continue
            read = position
        return events, read

    def _ends_whole(self) -> bool:
        if not self._path.exists() or self._path.stat().st_size == 0:
            return True
        with self._path.open("rb") as journal:
            journal.seek(-1, SEEK_END)
            return journal.read(1) == b"\n"

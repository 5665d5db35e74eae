"""A task of a trace, in any format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pyscale.analysis.workers import Interval
from pyscale.errors import UserError, why_no_name
from pyscale.report.tabletext import LEAST


@dataclass(frozen=True)
class Asked:
    """What the user says beside the files."""

    workers: int | None = None
    """N of every trial, where the user knows it."""
    workers_column: str | None = None
    """Column of the trace that holds N."""
    stage: str | None = None
    """Name of the stage, where the trace names none."""


MOST = 2**53
"""Bytes, seconds or anything else of one task: no machine has more."""
AMOUNTS = (
    *("wall_s", "cpus", "gpus", "cpu_s", "workers"),
    *("requested_memory_bytes", "peak_memory_bytes"),
)


@dataclass(frozen=True)
class TracedTask:
    """One task of a trace; null is what the trace does not tell."""

    source: Path
    stage: str
    trial: str
    """Which of the stage's trials it belongs to, in words that a user knows it by."""
    name: str
    wall_s: float | None = None
    start: datetime | None = None
    """On the trace's own clock: with a time zone only where the trace has one."""
    end: datetime | None = None
    cpus: int | None = None
    gpus: int | None = None
    cpu_s: float | None = None
    requested_memory_bytes: int | None = None
    peak_memory_bytes: int | None = None
    node: str | None = None
    state: str | None = None
    """In the trace's own word."""
    workers: int | None = None
    """N of its trial, where the trace tells it."""
    is_trial: bool = False
    """Whether it is a trial by itself, of N workers that are not told apart."""
    across_files: bool = False
    """Whether its trial is made of tasks of several files."""
    flaw: str | None = None
    """Why it cannot be timed, as in `2 of 4 tasks failed`."""

    def __post_init__(self) -> None:
        """Refuse what the table could not hold: numbers of tasks are added up and multiplied."""
        for field in AMOUNTS:
            value = getattr(self, field)
            # What is unknown passes, and so does 0, as of the GPUs of a task without any.
            if value and not LEAST <= value <= MOST:
                raise UserError(
                    f"{self.source}: {field} of {self.name} would be {str(value)[:20]}, which "
                    "cannot be right: correct or remove this line of the trace"
                )

    @property
    def interval(self) -> Interval | None:
        """When it ran, to be compared: traces with a time zone and without may stand together."""
        if self.start is None or self.end is None:
            return None
        interval = without_zone(self.start), without_zone(self.end)
        # A clock may have been set back meanwhile.
        return interval if interval[0] <= interval[1] else None


def without_zone(time: datetime) -> datetime:
    """A date in UTC where it has a time zone, else on its own clock."""
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


NO_TIME = "without a time"


def stage_name(where: str, told: str | None, asked: Asked, advice: str) -> str:
    """Name of a task's stage: the trace's or, where it has none, the user's."""
    if told is None and asked.stage is None:
        raise UserError(f"{where} does not name its stage: name it with --stage, or {advice}")
    if told is not None and asked.stage is not None:
        raise UserError(f"{where} names its stage {told!r} itself: leave out --stage")
    name = told or asked.stage or ""
    if (why_not := why_no_name(name)) is not None:
        raise UserError(f"{where}: invalid stage name {name!r}: {why_not}; choose another")
    return name


def refuse_twice_told(tasks: Iterable[TracedTask]) -> None:
    """Refuse a task that two files tell of, or one file twice."""
    seen: dict[tuple[object, ...], TracedTask] = {}
    for task in tasks:
        # Without dates, tasks of two files or trials may be two of one name.
        when = (task.start,) if task.start else (task.source, task.trial)
        first = seen.setdefault((task.stage, task.name, *when), task)
        if first is task:
            continue
        if first.source == task.source:
            raise UserError(f"{task.source} has {task.stage} {task.name} twice: remove one of them")
        raise UserError(
            f"{task.source} and {first.source} both have {task.stage} {task.name}: keep each "
            "task in one file only"
        )

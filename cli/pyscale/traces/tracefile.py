"""Reading of trace files of any format, with one sentence on what is wrong with one, and tasks."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from pathlib import Path
from typing import TypeVar

from pyscale.analysis.workers import Interval
from pyscale.errors import UserError, why_no_name
from pyscale.report.table import LEAST
from pyscale_stages.wording import plural

UNTOLD = frozenset({"", "-", "NA", "N/A", "None", "None assigned", "Unknown", "(null)"})
"""What tools write where they know nothing."""
Value = TypeVar("Value")


@dataclass(frozen=True)
class Layout:
    """How a tool writes its table."""

    separator: str
    needed: tuple[str, ...]
    """Columns without which nothing can be told."""
    advice: str
    """How to get a table that can be read, as in `ask sacct with …`."""
    last_is_free: bool = False
    """Whether text of the last column may hold the separator."""


def is_amount(number: float) -> bool:
    """Whether a number can be of something: neither negative, nor infinite, nor NaN."""
    return number >= 0 and number != math.inf


@dataclass(frozen=True)
class Row:
    """A line of a trace's table."""

    where: str
    """File and line, as the user counts them."""
    cells: dict[str, str]

    def told(self, column: str) -> str | None:
        """What stands in a column; None where it is not known, or there is no such column."""
        text = self.cells.get(column, "").strip()
        return None if text in UNTOLD else text

    def read(self, column: str, how: Callable[[str], Value], what: str) -> Value | None:
        """Turn what stands in a column into a value; None where it is not known."""
        text = self.told(column)
        if text is None:
            return None
        with suppress(ValueError):
            value = how(text)
            if not isinstance(value, int | float) or is_amount(value):
                return value
        raise UserError(f"{self.where}: {column} {text!r} is not {what}")


def rows_of(path: Path, layout: Layout) -> list[Row]:
    """Read the rows of a table."""
    try:
        # Not splitlines: a job's name may hold what that takes for the end of a line.
        lines = path.read_text(encoding="utf-8-sig").replace("\r\n", "\n").split("\n")
        above = next((place for place, line in enumerate(lines) if line.strip()), 0)
        reader = csv.reader(lines[above:], delimiter=layout.separator, quoting=csv.QUOTE_NONE)
        header, *every = [(above + reader.line_num, cells) for cells in reader]
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text: unpack it, or save it as plain text") from None
    except csv.Error as error:
        raise UserError(f"{path} is not a table ({error}): {layout.advice}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): check the file") from None
    columns = [name.strip() for name in header[1]]
    for name in layout.needed:
        if name not in columns:
            raise UserError(f"{path} has no column {name!r}: {layout.advice}")
    rows = []
    for number, cells in every:
        # Files that were put one behind the other have more than one header.
        if cells == header[1] or not any(map(str.strip, cells)):
            continue
        if layout.last_is_free and len(cells) > len(columns):
            free = len(columns) - 1
            cells[free:] = [layout.separator.join(cells[free:])]
        if len(cells) != len(columns):
            raise UserError(
                f"{path}, line {number} has {plural(len(cells), 'column')}, but the header "
                f"{len(columns)}: it may have been cut short, so {layout.advice}"
            )
        rows.append(Row(f"{path}, line {number}", dict(zip(columns, cells, strict=True))))
    if not rows:
        raise UserError(f"{path} has a header and no rows: nothing had run when it was written")
    return rows


_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES: dict[str, int] = {
    unit: 1024**power for power, unit in enumerate(["", "K", "M", "G", "T", "P"])
}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[smhd])(?![a-z])\s*")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTP]?)(?:i?B)?", re.IGNORECASE)
_CLOCK = re.compile(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+(?:\.\d+)?)")


def seconds_of_words(text: str) -> float:
    """Read `1d 2h 3m 4s`, or `250ms`."""
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text):
        raise ValueError(text)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def seconds_of_clock(text: str) -> float:
    """Read `[[days-]hours:]minutes:seconds`."""
    parts = _CLOCK.fullmatch(text)
    if parts is None:
        raise ValueError(text)
    days, hours, minutes, seconds = (float(part or 0) for part in parts.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def bytes_of(text: str) -> int:
    """Read `512`, `2.5K` or `1.5 GB`, in powers of 1,024 as Slurm and Nextflow mean them."""
    parts = _SIZE.fullmatch(text)
    if parts is None:
        raise ValueError(text)
    size = float(parts[1]) * _BYTES[parts[2].upper()]
    if size == math.inf:
        raise ValueError(text)
    return round(size)


def moment(text: str, *, per_second: int = 1) -> datetime:
    """Read a date, or a count since 1970; one with a time zone in UTC."""
    try:
        counted = text.isdecimal()
        date = (
            datetime.fromtimestamp(int(text) / per_second, UTC)
            if counted
            else datetime.fromisoformat(text)
        )
        date = date.astimezone(UTC).replace(tzinfo=None) if date.tzinfo else date
    except (OverflowError, OSError):
        raise ValueError(text) from None
    # At the ends of the calendar another time zone or a later second has no date.
    if not MINYEAR < date.year < MAXYEAR:
        raise ValueError(text)
    return date


@dataclass(frozen=True)
class Asked:
    """What the user says beside the files."""

    workers: int | None = None
    """N of every trial, where the user knows it."""
    stage: str | None = None
    """Name of the stage, where the trace names none."""


MOST = 2**53
"""Bytes, seconds or anything else of one task: no machine has more."""
AMOUNTS = (
    *("wall_s", "cpus", "gpus", "cpu_s"),
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
    """In UTC where the trace has a time zone, else on its own clock."""
    end: datetime | None = None
    cpus: int | None = None
    gpus: int | None = None
    cpu_s: float | None = None
    requested_memory_bytes: int | None = None
    peak_memory_bytes: int | None = None
    node: str | None = None
    state: str | None = None
    """In the trace's own word."""
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
        """When it ran."""
        if self.start is None or self.end is None:
            return None
        # A clock may have been set back meanwhile.
        return (self.start, self.end) if self.start <= self.end else None


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
    """Refuse a task that two files tell of, or one file twice, and one that no table can name."""
    seen: dict[tuple[object, ...], TracedTask] = {}
    for task in tasks:
        if (why_not := why_no_name(task.name)) is not None:
            what = f"{task.source} names a task {task.name!r}"
            raise UserError(f"{what}: {why_not}; correct it there")
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

"""Reading of trace files, with one sentence on what is wrong with one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from pathlib import Path
from typing import TypeVar

from pyscale.errors import UserError
from pyscale_stages.wording import did_you_mean, plural

UNTOLD = frozenset({"", "-", "NA", "N/A", "None", "None assigned", "Unknown", "(null)"})
"""What tools write where they know nothing."""
SEPARATORS = {"\t": "tabs", "|": "bars", ",": "commas", ";": "semicolons"}
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

    def read_workers(self, column: str) -> int:
        """N of a trial, which the user says is in this column."""
        if column not in self.cells:
            raise UserError(
                f"{self.where} has no column {column!r} for --workers: "
                f"{did_you_mean(column, self.cells)}"
            )
        workers = self.read(column, int, "a whole number, as --workers needs it")
        if workers is None or workers < 1:
            raise UserError(f"{self.where}: {column} must be at least 1 to be taken as --workers")
        return workers


def read_text(path: Path) -> str:
    """Read a file of text."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: name the path of a trace") from None
    except IsADirectoryError:
        raise UserError(f"{path} is a folder: name the files in it") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text: unpack it, or save it as plain text") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): check the file") from None
    if not text.strip():
        raise UserError(
            f"{path} is empty: check that the program that wrote it ended without an error"
        )
    return text


def rows_of(path: Path, text: str, layout: Layout) -> list[Row]:
    """Split the text of a table into its rows."""
    # Not splitlines: a job's name may hold what that takes for the end of a line.
    every = [line.rstrip("\r") for line in text.split("\n")]
    above = next((place for place, line in enumerate(every) if line.strip()), 0)
    header, *lines = every[above:]
    header = header.lstrip()
    if header.endswith(layout.separator):
        # `sacct -p` ends each line so.
        header, *lines = (line.removesuffix(layout.separator) for line in (header, *lines))
    _check_columns(path, header, layout)
    rows = list(_split(path, header, lines, layout, first=above + 2))
    if not rows:
        raise UserError(f"{path} has a header and no rows: nothing had run when it was written")
    return rows


def _check_columns(path: Path, header: str, layout: Layout) -> None:
    columns = [name.strip() for name in header.split(layout.separator)]
    lacking = [name for name in layout.needed if name not in columns]
    if not lacking:
        return
    for separator, word in SEPARATORS.items():
        others = {name.strip().strip('"') for name in header.split(separator)}
        if separator != layout.separator and set(layout.needed) <= others:
            raise UserError(
                f"{path} has {word} between its columns instead of "
                f"{SEPARATORS[layout.separator]}: {layout.advice}"
            )
    if set(layout.needed) & set(header.split()) and len(columns) == 1:
        raise UserError(f"{path} has blanks between its columns: {layout.advice}")
    raise UserError(f"{path} has no column {lacking[0]!r}: {layout.advice}")


def _split(
    path: Path, header: str, lines: list[str], layout: Layout, *, first: int
) -> Iterator[Row]:
    """Rows of the lines, of which the `first` has that number in the file."""
    columns = [name.strip() for name in header.split(layout.separator)]
    for number, line in enumerate(lines, start=first):
        # Files that were put one behind the other have more than one header.
        if not line.strip() or line == header:
            continue
        where = f"{path}, line {number}"
        most = len(columns) - 1 if layout.last_is_free else -1
        cells = line.split(layout.separator, most)
        if len(cells) != len(columns):
            raise UserError(
                f"{where} has {plural(len(cells), 'column')}, but the header {len(columns)}: it "
                f"may have been cut short, so {layout.advice}"
            )
        yield Row(where, dict(zip(columns, cells, strict=True)))


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
    """Read a date, or a count since 1970."""
    try:
        counted = text.isdecimal()
        date = (
            datetime.fromtimestamp(int(text) / per_second, UTC)
            if counted
            else datetime.fromisoformat(text)
        )
    except (OverflowError, OSError):
        raise ValueError(text) from None
    # At the ends of the calendar another time zone or a later second has no date.
    if not MINYEAR < date.year < MAXYEAR:
        raise ValueError(text)
    return date

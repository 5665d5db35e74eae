"""Times and sizes as tools print them for people."""

from __future__ import annotations

import math
import re
from datetime import MAXYEAR, MINYEAR, UTC, datetime

_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES: dict[str, int] = {
    unit: 1024**power for power, unit in enumerate(["", "K", "M", "G", "T", "P"])
}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[smhd])(?![a-z])\s*")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTP]?)(?:i?B)?", re.IGNORECASE)
_CLOCK = re.compile(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+(?:\.\d+)?)")


def seconds_of_words(text: str) -> float:
    """Read `1d 2h 3m 4s`, or `250ms`.

    Raises
    ------
    ValueError
        If it is no such time.
    """
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text):
        raise ValueError(text)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def seconds_of_clock(text: str) -> float:
    """Read `[[days-]hours:]minutes:seconds`.

    Raises
    ------
    ValueError
        If it is no such time.
    """
    parts = _CLOCK.fullmatch(text)
    if parts is None:
        raise ValueError(text)
    days, hours, minutes, seconds = (float(part or 0) for part in parts.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def bytes_of(text: str) -> int:
    """Read `512`, `2.5K` or `1.5 GB`, in powers of 1,024 as Slurm and Nextflow mean them.

    Raises
    ------
    ValueError
        If it is no size.
    """
    parts = _SIZE.fullmatch(text)
    if parts is None:
        raise ValueError(text)
    size = float(parts[1]) * _BYTES[parts[2].upper()]
    if size == math.inf:
        raise ValueError(text)
    return round(size)


def moment(text: str, *, per_second: int = 1) -> datetime:
    """Read a date, or a count since 1970.

    Parameters
    ----------
    text : str
    per_second : int
        What a second has of what is counted.

    Returns
    -------
    datetime
        In UTC where it was counted; a date is on the clock of whoever wrote it.

    Raises
    ------
    ValueError
        If it is neither.
    """
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

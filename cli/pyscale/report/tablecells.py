"""Cells of a user's table of wall times: from text to values, or an error of one sentence."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime

from pyscale.errors import UserError, why_no_name

Value = str | int | float | datetime

TIME, ENERGY, AMOUNT = "a time in seconds", "an energy in joules", "an amount of work"
LENGTH = "a length in pixels"
NUMBERS = {
    "wall_s": TIME,
    "time_s": TIME,
    "length_px": LENGTH,
    "mean_task_s": TIME,
    "sd_task_s": TIME,
    "cpu_s": TIME,
    "energy_j": ENERGY,
    "work": AMOUNT,
}
"""Columns of numbers, and their meaning."""
ABOVE_ZERO = frozenset({"wall_s", "time_s", "length_px", "work"})
SMALLEST = {
    "workers": 1,
    "repeat": 0,
    "block": 0,
    "tasks": 1,
    "tasks_done": 1,
    "cpus": 1,
    "gpus": 0,
    "requested_memory_bytes": 0,
    "peak_memory_bytes": 0,
}
"""Columns of whole numbers, and the smallest of each."""
DATES = ("start", "end")
ZERO_IS_UNKNOWN = frozenset({"cpu_s", "energy_j", "requested_memory_bytes", "peak_memory_bytes"})
"""Columns in which schedulers write 0 where they measured nothing: no task is without them."""
LARGEST = 2**63 - 1
"""Whole number that a table can hold."""
LEAST = 1e-12
"""Of what is above zero; with `LARGEST` it keeps ratios and figures within floating point."""


def cell(where: str, column: str, text: str) -> Value | None:
    """Turn the text of a cell into its value."""
    if column in NUMBERS:
        value: float = _real(where, column, text)
    elif column in SMALLEST:
        value = _whole(where, column, text)
    else:
        return _date(where, column, text) if column in DATES else _name(where, column, text)
    return None if value == 0 and column in ZERO_IS_UNKNOWN else value


def _real(where: str, column: str, text: str) -> float:
    number = _number(where, column, text, float, "a number, such as 12.5")
    if not math.isfinite(number) or number > LARGEST or 0 < number < LEAST:
        raise UserError(f"{where}: {column} {text} is not {NUMBERS[column]}")
    if number < 0 or (number == 0 and column in ABOVE_ZERO):
        least = "above zero" if column in ABOVE_ZERO else "zero or more"
        raise UserError(f"{where}: {column} {text} must be {least} ({NUMBERS[column]})")
    return number


def _whole(where: str, column: str, text: str) -> int:
    whole = int(_number(where, column, text, _int, "a whole number"))
    if whole < SMALLEST[column]:
        raise UserError(f"{where}: {column} {text} must be at least {SMALLEST[column]}")
    if whole > LARGEST:
        raise UserError(f"{where}: {column} {text} is too large")
    return whole


def _int(text: str) -> int:
    """Whole number of a text, like 8 or, as pandas writes columns with blanks, 8.0."""
    whole, _, decimals = text.partition(".")
    if decimals.strip("0"):
        raise ValueError
    return int(whole)


def _number(where: str, column: str, text: str, kind: Callable[[str], float], what: str) -> float:
    try:
        # Python takes 1_000 for a number; a table that has it does not mean that.
        return kind(text.replace("_", "?"))
    except ValueError:
        raise UserError(f"{where}: {column} {text!r} is not {what}") from None


def _name(where: str, column: str, text: str) -> str:
    why_not = why_no_name(text)
    if why_not is not None:
        raise UserError(f"{where}: {column} {text!r} cannot be a name: {why_not}; write another")
    return text


def _date(where: str, column: str, text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise UserError(
            f"{where}: {column} {text!r} is not a date, such as 2026-03-17T11:42:24"
        ) from None

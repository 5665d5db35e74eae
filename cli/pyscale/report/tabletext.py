"""A user's CSV: its columns, and its rows as values, or an error of one sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyscale.console import talk
from pyscale.errors import UserError, why_no_name
from pyscale_stages.wording import did_you_mean

if TYPE_CHECKING:
    # A limit of numbers is taken from here where nothing heavy may be imported.
    import polars as pl

Value = str | int | float | datetime

TIME, AMOUNT = "a time in seconds", "an amount of work"
LENGTH = "a length in pixels"
NUMBERS = {
    "wall_s": TIME,
    "time_s": TIME,
    "length_px": LENGTH,
    "mean_task_s": TIME,
    "sd_task_s": TIME,
    "cpu_s": TIME,
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
ZERO_IS_UNKNOWN = frozenset({"cpu_s", "requested_memory_bytes", "peak_memory_bytes"})
"""Columns in which schedulers write 0 where they measured nothing: no task is without them."""
LARGEST = 2**63 - 1
"""Whole number that a table can hold."""
LEAST = 1e-12
"""Of what is above zero; with `LARGEST` it keeps ratios and figures within floating point."""

SEPARATORS = ",;\t"
MISSPELT = 0.8
"""Likeness of an unknown column to a known one above which it is taken for a slip."""
ONE_OF_BOTH = (
    "keep 'block' if trials with the same number ran close together in time, else 'repeat'"
)
_TWICE = "_duplicated_"
"""How the reader of CSV marks the second of two equal names."""


def read_text(path: Path, needed: Sequence[str]) -> pl.DataFrame:
    """Read every cell as text, so that a wrong one can be named.

    Columns are separated by what occurs most often in the header: commas, semicolons or tabs.
    Columns with neither a name nor a value are left out: spreadsheets write them.
    """
    import polars as pl
    from polars.exceptions import PolarsError

    advice = "save it as plain UTF-8 text with commas, semicolons or tabs between the columns"
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: give --table the path of a CSV file") from None
    except IsADirectoryError:
        raise UserError(f"{path} is a folder: give --table the path of a CSV file") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text: {advice}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): check the file") from None
    if not text.strip():
        raise UserError(
            f"{path} is empty: begin with a line of column names, such as {','.join(needed)}"
        )
    try:
        lines = text.split("\n")
        above = next(place for place, line in enumerate(lines) if line.strip())
        header = lines[above]
        separator = max(SEPARATORS, key=header.count)
        # polars drops blank lines above the header. Below it they count, so that errors can name
        # the line of the file.
        moved = "\n".join([header, *[""] * above, *lines[above + 1 :]])
        table = pl.read_csv(moved.encode(), infer_schema=False, separator=separator)
    except PolarsError as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path} is not a CSV table ({reason}): {advice}") from None
    names = [name.strip() for name in table.columns]
    for name in names:
        if name and names.count(name) > 1:
            raise UserError(f"{path} has the column {name!r} twice: keep one of them")
    blank = pl.all().str.strip_chars().fill_null("") == ""
    filled = table.select(~blank.all()).row(0)
    return table.select(
        pl.col(column).alias(name)
        for column, name, has_value in zip(table.columns, names, filled, strict=True)
        if has_value or _own_name(name)
    )


def _own_name(column: str) -> str:
    """Name in the header, without the reader's mark."""
    return column.partition(_TWICE)[0]


def check_columns(
    path: Path, columns: Sequence[str], *, needed: Sequence[str], known: Sequence[str]
) -> None:
    """Refuse a table that lacks a column, or has one twice or misspelt; name ignored columns."""
    unknown = [column for column in columns if column not in known]
    lacking = [column for column in needed if column not in columns]
    for column in unknown:
        if _TWICE in column and _own_name(column) in known:
            raise UserError(f"{path} has the column {_own_name(column)!r} twice: keep one of them")
    if lacking:
        meant = get_close_matches(lacking[0], unknown, n=1)
        raise UserError(
            f"{path} has no column {lacking[0]!r}: "
            + (f"rename {meant[0]!r}" if meant else f"its columns are {', '.join(columns)!r}")
            + f" (needed: {', '.join(needed)})"
        )
    absent = [column for column in known if column not in columns]
    for column in unknown:
        if get_close_matches(column, absent, n=1, cutoff=MISSPELT):
            raise UserError(
                f"{path} has an unknown column {column!r}: {did_you_mean(column, absent)}"
            )
    if "repeat" in columns and "block" in columns:
        raise UserError(f"{path} has both 'repeat' and 'block': {ONE_OF_BOTH}")
    if unknown:
        names = dict.fromkeys(_own_name(column) or "one without a name" for column in unknown)
        talk(f"{path}: unknown columns are ignored: {', '.join(names)}")


def parsed_rows(
    path: Path, table: pl.DataFrame, columns: Sequence[str], *, needed: Sequence[str], what: str
) -> list[tuple[int, dict[str, Any]]]:
    """Turn text of some columns into values, each row with its line as the user counts them.

    Blank rows are left out.
    """
    rows = []
    following = 2
    for texts in table.iter_rows(named=True):
        # A quoted cell may have lines of its own.
        line, own = following, sum((text or "").count("\n") for text in texts.values())
        following += 1 + own
        stripped = {column: (texts[column] or "").strip() for column in columns}
        if not any(stripped.values()):
            continue
        row: dict[str, Any] = {}
        for column, text in stripped.items():
            if not text and column in needed:
                raise UserError(f"{path}, line {line}: {column!r} is blank: fill it in")
            row[column] = _cell(f"{path}, line {line}", column, text) if text else None
        rows.append((line, row))
    if not rows:
        raise UserError(f"{path} has no rows: add one row per measured {what}")
    return rows


def typed(rows: Sequence[tuple[int, dict[str, Any]]], columns: Sequence[str]) -> pl.DataFrame:
    """Rows as a table, each column of its own type."""
    import polars as pl

    kinds: dict[str, Any] = {
        **dict.fromkeys(NUMBERS, pl.Float64),
        **dict.fromkeys(SMALLEST, pl.Int64),
        **dict.fromkeys(DATES, pl.Datetime("us", "UTC")),
    }
    schema = {column: kinds.get(column, pl.String) for column in columns}
    return pl.DataFrame([row for _, row in rows], schema=schema)


def refuse_repeats(
    path: Path,
    rows: Sequence[tuple[int, dict[str, Any]]],
    key: Sequence[str],
    told: Callable[[dict[str, Any]], str],
    advice: str,
) -> None:
    """Refuse rows that cannot be told apart by the columns of a key."""
    seen: dict[tuple[Any, ...], int] = {}
    for line, row in rows:
        first = seen.setdefault(tuple(map(row.get, key)), line)
        if first != line:
            raise UserError(f"{path}, line {line} repeats line {first} ({told(row)}): {advice}")


def _cell(where: str, column: str, text: str) -> Value | None:
    convert: Callable[[str], Any]
    if NUMBERS.get(column) == TIME:
        convert, what = _seconds, "a number of seconds, such as 12.5, or a time like 00:01:40"
    elif column in NUMBERS:
        convert, what = _number, "a number, such as 12.5"
    elif column in SMALLEST:
        convert, what = _int, "a whole number"
    elif column in DATES:
        convert, what = datetime.fromisoformat, "a date, such as 2026-03-17T11:42:24"
    else:
        if (why_not := why_no_name(text)) is not None:
            raise UserError(
                f"{where}: {column} {text!r} cannot be a name: {why_not}; write another"
            )
        return text
    try:
        # Python takes 1_000 for a number; a table that has it does not mean that.
        value: Value = convert(text.replace("_", "?"))
    except ValueError:
        raise UserError(f"{where}: {column} {text!r} is not {what}") from None
    if not isinstance(value, datetime | str) and (wrong := _out_of_range(column, value)):
        raise UserError(f"{where}: {column} {text} {wrong}")
    return None if value == 0 and column in ZERO_IS_UNKNOWN else value


def _out_of_range(column: str, value: float) -> str:
    """Say why a number cannot be one of its column; empty where it can."""
    if column in SMALLEST:
        if value < SMALLEST[column]:
            return f"must be at least {SMALLEST[column]}"
        return "is too large" if value > LARGEST else ""
    if not math.isfinite(value) or value > LARGEST or 0 < value < LEAST:
        return f"is not {NUMBERS[column]}"
    if value < 0 or (value == 0 and column in ABOVE_ZERO):
        least = "above zero" if column in ABOVE_ZERO else "zero or more"
        return f"must be {least} ({NUMBERS[column]})"
    return ""


def _seconds(text: str) -> float:
    """Seconds, also of hours:minutes:seconds; of two parts nobody knows which they are."""
    clock = re.fullmatch(r"(\d+):([0-5]?\d):([0-5]?\d(?:[.,]\d+)?)", text)
    if clock is None:
        return _number(text)
    return 3600 * int(clock[1]) + 60 * int(clock[2]) + float(clock[3].replace(",", "."))


def _number(text: str) -> float:
    """A number, also with a decimal comma; 1,000 may be one or a thousand."""
    comma = re.fullmatch(r"([+-]?\d+),(\d+)", text)
    if comma is None or len(comma[2]) == 3:
        return float(text)
    return float(f"{comma[1]}.{comma[2]}")


def _int(text: str) -> int:
    """Whole number of a text, like 8 or, as pandas writes columns with blanks, 8.0."""
    whole, _, decimals = text.partition(".")
    if decimals.strip("0"):
        raise ValueError
    return int(whole)

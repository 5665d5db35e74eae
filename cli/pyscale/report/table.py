"""Reads a user's table of wall times, over workers or sizes; an error is one sentence."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from pyscale.analysis.grid.points import BASE_KIND, KINDS, SIZE, device_of
from pyscale.console import talk
from pyscale.errors import UserError, why_no_name
from pyscale_stages.wording import did_you_mean, plural

REQUIRED = ("stage", "workers", "wall_s")
COLUMNS = (*REQUIRED, "repeat", "block", "task", "tasks", "mean_task_s", "sd_task_s", "work")
BESIDE = (
    *("trial", "tasks_done", "start", "end", "cpus", "gpus", "cpu_s"),
    *("requested_memory_bytes", "peak_memory_bytes", "node", "state"),
)
"""Columns that `pyscale import` writes beside; other tables may have them too."""
NOT_ANALYSED = ("trial", "state")
"""Columns for people, over which the analysis passes."""
DATES = ("start", "end")
ROUNDING = 1.01
"""Published means and wall times are rounded, so that one may seem to exceed the other."""
TIME, OTHER_TIME = "wall_s", "time_s"
"""Column of times in a table over sizes, and another name that it may have."""
OF_SIZES = ("stage", "repeat", "block")
"""Columns that a table over sizes may have beside."""
LARGEST = 2**63 - 1
"""Whole number that a table can hold."""
LEAST = 1e-12
"""Of what is above zero; with `LARGEST` it keeps ratios and figures within floating point."""
SEPARATORS = ",;\t"
MISSPELT = 0.8
"""Likeness of an unknown column to a known one above which it is taken for a slip."""
_TWICE = "_duplicated_"
"""How the reader of CSV marks the second of two equal names."""

Rows = list[tuple[int, dict[str, Any]]]
"""Every row with its line, as the user counts them."""


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


def _whole(text: str) -> int:
    """Whole number of a text, like 8 or, as pandas writes columns with blanks, 8.0."""
    whole, _, decimals = text.partition(".")
    if decimals.strip("0"):
        raise ValueError
    return int(whole)


@dataclass(frozen=True)
class Column:
    """How the cells of a column are read."""

    read: Callable[[str], Any]
    what: str
    """What they must be, with an example."""
    means: str = ""
    """What a number of them is."""
    least: int = 0
    is_above: bool = False
    """Whether the least itself is too little."""
    zero_is_unknown: bool = False
    """Whether schedulers write 0 where they measured nothing, as no task is without it."""

    def wrong(self, value: float) -> str:
        """Say why a number cannot be one of the column; empty where it can."""
        if not self.means:
            if value < self.least:
                return f"must be at least {self.least}"
            return "is too large" if value > LARGEST else ""
        if not math.isfinite(value) or value > LARGEST or 0 < value < LEAST:
            return f"is not {self.means}"
        if value < 0 or (value == 0 and self.is_above):
            least = "above zero" if self.is_above else "zero or more"
            return f"must be {least} ({self.means})"
        return ""


_date = datetime.fromisoformat
_time_of = partial(
    Column,
    _seconds,
    "a number of seconds, such as 12.5, or a time like 00:01:40",
    "a time in seconds",
)
_amount = partial(Column, _number, "a number, such as 12.5")
_count = partial(Column, _whole, "a whole number")
READ = {
    "wall_s": _time_of(is_above=True),
    "time_s": _time_of(is_above=True),
    "length_px": _amount("a length in pixels", is_above=True),
    "mean_task_s": _time_of(),
    "sd_task_s": _time_of(),
    "cpu_s": _time_of(zero_is_unknown=True),
    "work": _amount("an amount of work", is_above=True),
    "workers": _count(least=1),
    "repeat": _count(),
    "block": _count(),
    "tasks": _count(least=1),
    "tasks_done": _count(least=1),
    "cpus": _count(least=1),
    "gpus": _count(),
    "requested_memory_bytes": _count(zero_is_unknown=True),
    "peak_memory_bytes": _count(zero_is_unknown=True),
    **dict.fromkeys(DATES, Column(_date, "a date, such as 2026-03-17T11:42:24")),
}
"""Every column but those of names."""


def read_wall_times(path: Path) -> pl.DataFrame:
    """Read a CSV of wall times measured elsewhere, as `analysis.walltimes` takes them.

    It has a row per trial, or per task where there is a column `task`: `REQUIRED`, and any of
    `COLUMNS` and `BESIDE`. Others are ignored.
    """
    table = _texts(path, REQUIRED)
    _check_columns(path, table.columns, needed=REQUIRED, known=(*COLUMNS, *BESIDE))
    if {"mean_task_s", "task"} <= {*table.columns}:
        raise UserError(
            f"{path} has both 'task' and 'mean_task_s': keep one (a row is one task, or the mean "
            "of all)"
        )
    analysed = [column for column in (*COLUMNS, *BESIDE) if column not in NOT_ANALYSED]
    given = [column for column in analysed if column in table.columns]
    needed = (*REQUIRED, "repeat", "block", "task")
    rows = _rows(path, table, given, needed=needed, what="wall time")
    _check_rows(path, rows)
    _put_on_one_clock(path, rows)
    return _typed(rows, given)


def has_sizes(path: Path) -> bool:
    """Whether a CSV sweeps over sizes: it has a column `length_px`, and none of workers."""
    columns = _texts(path, REQUIRED).columns
    return SIZE in columns and "workers" not in columns


def read_sizes(path: Path) -> pl.DataFrame:
    """Read a CSV of times by device and size measured elsewhere, as `analysis.grid` takes it.

    It has a row per trial: `device` (`[machine-]kind[-model]`, such as `desktop-gpu-rtx4070` or
    `cpu`; the kind is one of cpu, gpu, cuda and mps), `length_px` (of a square image) and `wall_s`
    or `time_s`; where there are several stages `stage`, and of repeated trials `repeat`, or `block`
    where trials with the same one ran close in time. Others are ignored.
    """
    table = _texts(path, ("device", SIZE, TIME))
    if {TIME, OTHER_TIME} <= {*table.columns}:
        raise UserError(f"{path} has both {TIME!r} and {OTHER_TIME!r}: keep one of them")
    time = OTHER_TIME if OTHER_TIME in table.columns else TIME
    needed = ("device", SIZE, time)
    _check_columns(path, table.columns, needed=needed, known=(*needed, *OF_SIZES))
    given = [column for column in table.columns if column in {*needed, *OF_SIZES}]
    rows = _rows(path, table, given, needed=given, what="time")
    _check_devices(path, rows)
    _refuse_repeats(
        path,
        rows,
        ("stage", "device", SIZE, "repeat", "block"),
        lambda row: f"{row['device']} at {row[SIZE]:g} px",
        "number repeated trials in a column 'repeat'",
    )
    return _typed(rows, given).rename({time: TIME})


def _texts(path: Path, needed: Sequence[str]) -> pl.DataFrame:
    """Read every cell as text, so that a wrong one can be named.

    Columns are separated by what occurs most often in the header: commas, semicolons or tabs.
    Columns with neither a name nor a value are left out: spreadsheets write them.
    """
    advice = "save it as plain UTF-8 text with commas, semicolons or tabs between the columns"
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text: {advice}") from None
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror}): give --table the path of a CSV file"
        ) from None
    lines = text.split("\n")
    above = next((place for place, line in enumerate(lines) if line.strip()), None)
    if above is None:
        raise UserError(
            f"{path} is empty: begin with a line of column names, such as {','.join(needed)}"
        )
    header = lines[above]
    # polars drops blank lines above the header. Below it they count, so that errors can name the
    # line of the file.
    moved = "\n".join([header, *[""] * above, *lines[above + 1 :]])
    separator = max(SEPARATORS, key=header.count)
    try:
        table = pl.read_csv(moved.encode(), infer_schema=False, separator=separator)
    except PolarsError as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path} is not a CSV table ({reason}): {advice}") from None
    names = [name.strip() for name in table.columns]
    for name in names:
        # An own column may be there twice without a name.
        if name and (names.count(name) > 1 or (_TWICE in name and _own_name(name) in READ)):
            raise UserError(f"{path} has the column {_own_name(name)!r} twice: keep one of them")
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


def _check_columns(
    path: Path, columns: Sequence[str], *, needed: Sequence[str], known: Sequence[str]
) -> None:
    """Refuse a table that lacks a column, or has one misspelt; name ignored columns."""
    unknown = [column for column in columns if column not in known]
    lacking = [column for column in needed if column not in columns]
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
        raise UserError(
            f"{path} has both 'repeat' and 'block': keep 'block' if trials with the same number "
            "ran close together in time, else 'repeat'"
        )
    if unknown:
        names = dict.fromkeys(_own_name(column) or "one without a name" for column in unknown)
        talk(f"{path}: unknown columns are ignored: {', '.join(names)}")


def _rows(
    path: Path, table: pl.DataFrame, columns: Sequence[str], *, needed: Sequence[str], what: str
) -> Rows:
    """Turn the texts of some columns into values; blank rows are left out."""
    rows = []
    following = 2
    for texts in table.iter_rows(named=True):
        # A quoted cell may have lines of its own.
        line, own = following, sum((text or "").count("\n") for text in texts.values())
        following += 1 + own
        stripped = {column: (texts[column] or "").strip() for column in columns}
        if not any(stripped.values()):
            continue
        for column in needed:
            if stripped.get(column) == "":
                raise UserError(f"{path}, line {line}: {column!r} is blank: fill it in")
        where = f"{path}, line {line}"
        rows.append((line, dict(_values(where, stripped))))
    if not rows:
        raise UserError(f"{path} has no rows: add one row per measured {what}")
    return rows


def _values(where: str, texts: dict[str, str]) -> Iterator[tuple[str, Any]]:
    for name, text in texts.items():
        column, value = READ.get(name), None
        if text and column is None:
            if (why_not := why_no_name(text)) is not None:
                raise UserError(
                    f"{where}: {name} {text!r} cannot be a name: {why_not}; write another"
                )
            value = text
        elif text and column is not None:
            value = _value(where, name, text, column)
        yield name, value


def _value(where: str, name: str, text: str, column: Column) -> Any:
    try:
        # Python takes 1_000 for a number; a table that has it does not mean that.
        value = column.read(text.replace("_", "?"))
    except ValueError:
        raise UserError(f"{where}: {name} {text!r} is not {column.what}") from None
    if not isinstance(value, datetime) and (wrong := column.wrong(value)):
        raise UserError(f"{where}: {name} {text} {wrong}")
    return None if value == 0 and column.zero_is_unknown else value


def _typed(rows: Rows, columns: Sequence[str]) -> pl.DataFrame:
    types: dict[Any, Any] = {
        _seconds: pl.Float64,
        _number: pl.Float64,
        _whole: pl.Int64,
        _date: pl.Datetime("us", "UTC"),
    }
    schema = {name: types[READ[name].read] if name in READ else pl.String for name in columns}
    return pl.DataFrame([row for _, row in rows], schema=schema)


def _refuse_repeats(
    path: Path,
    rows: Rows,
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


def _check_rows(path: Path, rows: Rows) -> None:
    """Find rows that cannot be told apart, and trials whose tasks do not add up."""
    number = "block" if "block" in rows[0][1] else "repeat"
    _refuse_repeats(
        path,
        rows,
        ("stage", "workers", number, "task"),
        lambda row: f"{row['stage']} at {plural(row['workers'], 'worker')}",
        f"number repeated trials in a column {number!r}, or name the tasks of one trial in a "
        "column 'task'",
    )
    for line, row in rows:
        busy_s = (row.get("mean_task_s") or 0) * (row.get("tasks") or row["workers"])
        if busy_s > ROUNDING * row["workers"] * row["wall_s"]:
            raise UserError(
                f"{path}, line {line}: {busy_s:g} s of tasks exceed {row['workers']} workers x "
                f"{row['wall_s']:g} s: check mean_task_s and wall_s"
            )
    if "task" not in rows[0][1]:
        return
    tasks = Counter((row["stage"], row["workers"], row.get(number)) for _, row in rows)
    for (stage, workers, trial), count in tasks.items():
        if count != workers:
            which = "" if trial is None else f", {number} {trial}"
            raise UserError(
                f"{path} has {plural(count, 'task')} of {stage} at "
                f"{plural(workers, 'worker')}{which}: give one row for each worker"
            )


def _put_on_one_clock(path: Path, rows: Rows) -> None:
    """Take dates without a time zone for UTC, where none has one: only differences count."""
    dates = [row[column] for _, row in rows for column in DATES if row.get(column) is not None]
    if len({date.tzinfo is None for date in dates}) > 1:
        raise UserError(
            f"{path}: some dates have a time zone and others none: write all alike, or remove the "
            "columns start and end"
        )
    for line, row in rows:
        for column in DATES:
            if (date := row.get(column)) is not None:
                row[column] = date if date.tzinfo else date.replace(tzinfo=UTC)
        start, end = row.get("start"), row.get("end")
        if start is not None and end is not None and end < start:
            raise UserError(f"{path}, line {line}: end is before start: check both")


def _check_devices(path: Path, rows: Rows) -> None:
    """Refuse names without a kind of device, and a machine with two baselines."""
    base_of: dict[tuple[Any, str], str] = {}
    for line, row in rows:
        name = row["device"]
        device = device_of(name)
        if device is None:
            raise UserError(
                f"{path}, line {line}: device {name!r} must name one of {', '.join(KINDS)}: "
                "write [machine-]kind[-model], such as desktop-gpu-rtx4070"
            )
        if device.kind != BASE_KIND:
            continue
        known = base_of.setdefault((row.get("stage"), device.machine), name)
        if known != name:
            raise UserError(
                f"{path}, line {line}: {name} and {known} are both the CPU (the baseline) of one "
                "machine: put the machine's name before the kind"
            )

"""Reads a user's table of wall times, and says in one sentence what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyscale.errors import UserError
from pyscale.report.tablecells import DATES, NUMBERS, SMALLEST, cell
from pyscale_stages.wording import did_you_mean

if TYPE_CHECKING:
    import polars as pl

REQUIRED = ("stage", "workers", "wall_s")
COLUMNS = (*REQUIRED, "repeat", "task", "tasks", "mean_task_s", "sd_task_s", "work", "energy_j")
BESIDE = (
    *("trial", "tasks_done", "start", "end", "cpus", "gpus", "cpu_s"),
    *("requested_memory_bytes", "peak_memory_bytes", "node", "state"),
)
"""Columns that `pyscale import` writes beside; other tables may have them too."""
NOT_ANALYSED = ("trial", "state")
"""Columns for people, over which the analysis passes."""
ROUNDING = 1.01
"""Published means and wall times are rounded, so that one may seem to exceed the other."""
KEY = ("stage", "workers", "repeat", "task")
"""Columns that together name one row."""


def read_wall_times(path: Path) -> pl.DataFrame:
    """Read a CSV of wall times that were measured elsewhere.

    Parameters
    ----------
    path : Path
        One row per trial, or per task where there is a column `task`. Columns `stage`,
        `workers` and `wall_s`, and any of `COLUMNS` and `BESIDE`.

    Returns
    -------
    polars.DataFrame
        What `pyscale.analysis.walltimes.trials_from_wall_times` takes.

    Raises
    ------
    UserError
        If the file or a value in it cannot be used.
    """
    import polars as pl

    table = _read_text(path)
    _check_columns(path, table.columns)
    if table.is_empty():
        raise UserError(f"{path} has a header and no rows: add one row per measured wall time")
    analysed = [column for column in (*COLUMNS, *BESIDE) if column not in NOT_ANALYSED]
    given = [column for column in analysed if column in table.columns]
    rows = list(_parsed_rows(path, table.select(given)))
    kinds: dict[str, Any] = {
        **dict.fromkeys(NUMBERS, pl.Float64),
        **dict.fromkeys(SMALLEST, pl.Int64),
        **dict.fromkeys(DATES, pl.Datetime("us", "UTC")),
        **dict.fromkeys(("stage", "task", "node"), pl.String),
    }
    _check_rows(path, rows)
    _put_on_one_clock(path, rows)
    return pl.DataFrame(rows, schema={column: kinds[column] for column in given})


def _read_text(path: Path) -> pl.DataFrame:
    """Read every cell as text, so that a wrong one can be named."""
    import polars as pl
    from polars.exceptions import PolarsError

    advice = "save it as plain UTF-8 text with commas between the columns"
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
            f"{path} is empty: it must begin with a line of column names, such as "
            f"{','.join(REQUIRED)}"
        )
    try:
        table = pl.read_csv(text.encode(), infer_schema=False)
    except PolarsError as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path} is not a CSV table ({reason}): {advice}") from None
    return table.rename(str.strip)


def _check_columns(path: Path, columns: list[str]) -> None:
    unknown = [column for column in columns if column not in (*COLUMNS, *BESIDE)]
    lacking = [column for column in REQUIRED if column not in columns]
    for column in unknown:
        # The reader of CSV marks the second of two equal names so.
        name, mark, _ = column.rpartition("_duplicated_")
        if mark and name in columns:
            raise UserError(f"{path} has the column {name!r} twice: keep one of them")
    if lacking:
        meant = get_close_matches(lacking[0], unknown, n=1)
        raise UserError(
            f"{path} has no column {lacking[0]!r}: "
            + (f"rename {meant[0]!r}" if meant else f"its columns are {', '.join(columns)!r}")
            + f" ({', '.join(REQUIRED)} are needed, separated by commas)"
        )
    if unknown:
        meant_by = did_you_mean(unknown[0], [c for c in (*COLUMNS, *BESIDE) if c not in columns])
        raise UserError(f"{path} has an unknown column {unknown[0]!r}: {meant_by}")
    if "mean_task_s" in columns and "task" in columns:
        raise UserError(
            f"{path} has both 'task' and 'mean_task_s': a row is one task or the mean of all, "
            "so keep one of these columns"
        )


def _parsed_rows(path: Path, table: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Turn text into values, line by line as the user counts them."""
    for line, texts in enumerate(table.iter_rows(named=True), start=2):
        row: dict[str, Any] = {}
        for column, told in texts.items():
            text = (told or "").strip()
            if not text and column in (*REQUIRED, "repeat", "task"):
                raise UserError(f"{path}, line {line}: {column!r} is blank, fill it in")
            row[column] = cell(f"{path}, line {line}", column, text) if text else None
        yield row


def _check_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """Find rows that cannot be told apart, and trials whose tasks do not add up."""
    seen: dict[tuple[Any, ...], int] = {}
    tasks: dict[tuple[Any, ...], int] = {}
    for line, row in enumerate(rows, start=2):
        key = tuple(row.get(column) for column in KEY)
        if key in seen:
            raise UserError(
                f"{path}, line {line} repeats line {seen[key]} ({row['stage']} at "
                f"{row['workers']} workers): number repeated trials in a column 'repeat', or "
                "name the tasks of one trial in a column 'task'"
            )
        seen[key] = line
        tasks[key[:3]] = tasks.get(key[:3], 0) + 1
        busy_s = (row.get("mean_task_s") or 0) * (row.get("tasks") or row["workers"])
        held_s = row["workers"] * row["wall_s"]
        if busy_s > ROUNDING * held_s:
            raise UserError(
                f"{path}, line {line}: tasks of {busy_s:g} s in sum do not fit into "
                f"{row['workers']} workers for {row['wall_s']:g} s: check mean_task_s and wall_s"
            )
    if "task" not in rows[0]:
        return
    for (stage, workers, repeat), count in tasks.items():
        if count != workers:
            which = "" if repeat is None else f", repeat {repeat}"
            raise UserError(
                f"{path} has {count} tasks of {stage} at {workers} workers{which}: give one row "
                "for each worker"
            )


def _put_on_one_clock(path: Path, rows: list[dict[str, Any]]) -> None:
    """Take dates without a time zone for UTC, where none has one: only differences count."""
    first: tuple[int, datetime] | None = None
    for line, row in enumerate(rows, start=2):
        for column in DATES:
            date = row.get(column)
            if date is None:
                continue
            known = first or (line, date)
            if (date.tzinfo is None) != (known[1].tzinfo is None):
                zoned, bare = (line, known[0]) if date.tzinfo else (known[0], line)
                raise UserError(
                    f"{path}: line {zoned} has a date with a time zone and line {bare} one "
                    "without: write all alike, or leave out the columns start and end"
                )
            first = known
            row[column] = date if date.tzinfo else date.replace(tzinfo=UTC)
        start, end = row.get("start"), row.get("end")
        if start is not None and end is not None and end < start:
            raise UserError(f"{path}, line {line}: end is before start: check both")

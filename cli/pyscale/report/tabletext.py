"""Text of a user's CSV: its columns, and its rows as values, or an error of one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import polars as pl

from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.report.tablecells import cell
from pyscale_stages.wording import did_you_mean

SEPARATORS = ",;\t"
MISSPELT = 0.8
"""Likeness of an unknown column to a known one above which it is taken for a slip."""
_TWICE = "_duplicated_"
"""How the reader of CSV marks the second of two equal names."""


def read_text(path: Path, needed: Sequence[str]) -> pl.DataFrame:
    """Read every cell as text, so that a wrong one can be named.

    Columns are separated by what occurs most often in the header: commas, semicolons or tabs.
    Columns with neither a name nor a value are left out: spreadsheets write them.
    """
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
        header = text.lstrip().partition("\n")[0]
        separator = max(SEPARATORS, key=header.count)
        table = pl.read_csv(text.encode(), infer_schema=False, separator=separator)
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
    if unknown:
        names = dict.fromkeys(_own_name(column) or "one without a name" for column in unknown)
        talk(f"{path}: unknown columns are ignored: {', '.join(names)}")


def parsed_rows(
    path: Path, table: pl.DataFrame, *, needed: Sequence[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Turn text into values, each row with its line as the user counts them, but for blank ones."""
    for line, texts in enumerate(table.iter_rows(named=True), start=2):
        stripped = {column: (told or "").strip() for column, told in texts.items()}
        if not any(stripped.values()):
            continue
        row: dict[str, Any] = {}
        for column, text in stripped.items():
            if not text and column in needed:
                raise UserError(f"{path}, line {line}: {column!r} is blank: fill it in")
            row[column] = cell(f"{path}, line {line}", column, text) if text else None
        yield line, row

"""Text of a user's CSV: its columns, and its rows as values, or a sentence on what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyscale.errors import UserError
from pyscale.report.tablecells import cell
from pyscale_stages.wording import did_you_mean

if TYPE_CHECKING:
    import polars as pl


def read_text(path: Path, needed: Sequence[str]) -> pl.DataFrame:
    """Read every cell as text, so that a wrong one can be named.

    Parameters
    ----------
    path : Path
    needed : sequence of str
        Columns that an empty file is told to begin with.

    Raises
    ------
    UserError
        If the file is not there, or is no CSV.
    """
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
            f"{','.join(needed)}"
        )
    try:
        table = pl.read_csv(text.encode(), infer_schema=False)
    except PolarsError as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path} is not a CSV table ({reason}): {advice}") from None
    return table.rename(str.strip)


def check_columns(
    path: Path, columns: Sequence[str], *, needed: Sequence[str], known: Sequence[str]
) -> None:
    """Refuse a table that lacks a column, or has one twice or one that nobody knows.

    Raises
    ------
    UserError
    """
    unknown = [column for column in columns if column not in known]
    lacking = [column for column in needed if column not in columns]
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
            + f" ({', '.join(needed)} are needed, separated by commas)"
        )
    if unknown:
        meant_by = did_you_mean(unknown[0], [c for c in known if c not in columns])
        raise UserError(f"{path} has an unknown column {unknown[0]!r}: {meant_by}")


def parsed_rows(
    path: Path, table: pl.DataFrame, *, needed: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Turn text into values, line by line as the user counts them.

    Parameters
    ----------
    path : Path
    table : polars.DataFrame
        As `read_text` gives it.
    needed : sequence of str
        Columns that may not be blank.

    Raises
    ------
    UserError
        If a cell is blank that may not be, or is not what its column holds.
    """
    for line, texts in enumerate(table.iter_rows(named=True), start=2):
        row: dict[str, Any] = {}
        for column, told in texts.items():
            text = (told or "").strip()
            if not text and column in needed:
                raise UserError(f"{path}, line {line}: {column!r} is blank, fill it in")
            row[column] = cell(f"{path}, line {line}", column, text) if text else None
        yield row

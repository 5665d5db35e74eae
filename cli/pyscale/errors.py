"""Errors of the user: one sentence that says what is wrong, where, and what to do.

The launcher imports this: nothing heavy.
"""

from __future__ import annotations

import errno
import os
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel


class UserError(Exception):
    """Ends a command with its message on stderr and exit code 2, without a traceback."""


@contextmanager
def problems_told(model: type[BaseModel], before: str, after: str = "") -> Iterator[None]:
    """Tell the first problem that a model finds in the block, in a sentence around it."""
    from pydantic import ValidationError

    from pyscale_stages.wording import first_problem

    try:
        yield
    except ValidationError as error:
        raise UserError(f"{before}{first_problem(error, model)}{after}") from error


@contextmanager
def refused_by_disk(sentence: str) -> Iterator[None]:
    """Tell what a disk refuses in the block, `{why}` in a sentence; a full one passes."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise UserError(sentence.replace("{why}", error.strerror or str(error))) from error


def end_of(log: Path, most_bytes: int = 4096) -> str:
    """What a program wrote last into a log; empty where the log cannot be read."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - most_bytes))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def last_line(log: Path) -> str:
    """The last line of a log; empty where it has none."""
    return end_of(log).strip().rpartition("\n")[2]


def why_no_name(text: str) -> str | None:
    """Say in a clause why a text cannot be a name in tables and sentences; None where it can."""
    if any(unicodedata.category(letter) == "Cc" for letter in text):
        return "it contains a control character"
    if text.startswith(("=", "+", "-", "@")):
        return f"it begins with {text[0]}, which a spreadsheet takes for a formula"
    return None

"""Errors of the user: one sentence that says what is wrong, where, and what to do."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


class UserError(Exception):
    """Ends a command with its message on stderr and exit code 2, without a traceback."""


Sayings = Sequence[tuple[str, type[Exception], str]]
"""What programs say, as patterns, each with its error and a sentence that names what to do."""


def explained(said: str, sayings: Sayings, **words: object) -> Exception | None:
    """The error of the first pattern in what was said, with its groups and words filled in."""
    for pattern, kind, sentence in sayings:
        found = re.search(pattern, said)
        if found is not None:
            return kind(sentence.format(**words, **found.groupdict()))
    return None


@contextmanager
def disk_errors_explained(folder: Path, sayings: Sayings) -> Iterator[None]:
    """Turn what the disk of a folder refuses inside the block into a sentence on `{where}`."""
    try:
        yield
    except OSError as error:
        said, where = os.strerror(error.errno or 0), error.filename or folder
        known = explained(said, sayings, folder=folder, where=where)
        if known is None:
            raise
        raise known from error


FULL = "No space left|quota exceeded"
READ_ONLY = "Permission denied|Operation not permitted|Read-only"
A_FILE = "File exists|Not a directory"
"""What a disk refuses, in the system's words."""


def why_no_name(text: str) -> str | None:
    """Say in a clause why a text cannot be a name in tables and sentences; None where it can."""
    if any(unicodedata.category(letter) == "Cc" for letter in text):
        return "it contains a control character"
    if text.startswith(("=", "+", "-", "@")):
        return f"it begins with {text[0]}, which a spreadsheet takes for a formula"
    return None

"""Errors of the user: one sentence that says what is wrong, where, and what to do."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence


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


def why_no_name(text: str) -> str | None:
    """Say in a clause why a text cannot be a name in tables and sentences; None where it can."""
    if any(unicodedata.category(letter) == "Cc" for letter in text):
        return "it contains a control character"
    if text.startswith(("=", "+", "-", "@")):
        return f"it begins with {text[0]}, which a spreadsheet takes for a formula"
    return None

"""Errors of the user: one sentence that says what is wrong, where, and what to do."""

from __future__ import annotations

import unicodedata


class UserError(Exception):
    """Ends a command with its message on stderr and exit code 2, without a traceback."""


def why_no_name(text: str) -> str | None:
    """Say in a clause why a text cannot be a name in tables and sentences; None where it can."""
    if any(unicodedata.category(letter) == "Cc" for letter in text):
        return "it contains a control character"
    if text.startswith(("=", "+", "-", "@")):
        return f"it begins with {text[0]}, which a spreadsheet takes for a formula"
    return None

"""Placeholders of a command: `{input}` and the like in its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Formatter

PARAMS = "params."
"""What stands before the name of a parameter of the user's own."""


def fields_of(word: str) -> set[str]:
    """Names that a word holds in braces; doubled braces are braces.

    Raises
    ------
    ValueError
        If a brace is alone, or holds more than a name.
    """
    try:
        parts = list(Formatter().parse(word))
    except ValueError as error:
        raise ValueError(
            f"{word!r} has a brace without a partner ({error}): write {{{{ for a brace itself"
        ) from error
    formatted = [field for _, field, spec, conversion in parts if spec or conversion]
    if formatted:
        raise ValueError(f"{word!r} formats {{{formatted[0]}}}: a placeholder is a name alone")
    return {field for _, field, _, _ in parts if field is not None}


def filled(word: str, values: Mapping[str, str]) -> str:
    """Put values into the place of names; a word stays one, whatever they hold."""
    return "".join(
        text + (values[field] if field is not None else "")
        for text, field, _, _ in Formatter().parse(word)
    )


def all_filled(words: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """Fill every word of a command."""
    return tuple(filled(word, values) for word in words)

"""Placeholders of a command: `{input}` and the like in its words."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from string import Formatter

Value = str | Sequence[str]
"""What a name stands for: one word or several."""
PARAMS = "params."
"""What stands before the name of a parameter of the user's own."""


def fields_of(word: str) -> set[str]:
    """Names that a word holds in braces; doubled braces are braces."""
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


def filled(words: Sequence[str], values: Mapping[str, Value], *, shell: bool) -> list[str]:
    """Put values into the place of names in the words of a command.

    A word stays one, whatever the values hold; only a list that is named alone is as many words.
    With `shell`, `sh` will split the only word: then values are quoted.
    """
    if shell:
        return ["/bin/sh", "-c", *(_filled(word, values, shlex.quote) for word in words)]
    found: list[str] = []
    for word in words:
        alone = values.get(word[1:-1]) if word[:1] + word[-1:] == "{}" else None
        found += [_filled(word, values, str)] if alone is None else _several(alone)
    return found


def _filled(word: str, values: Mapping[str, Value], written: Callable[[str], str]) -> str:
    parts = (
        (text, [] if field is None else _several(values[field]))
        for text, field, _, _ in Formatter().parse(word)
    )
    return "".join(text + " ".join(map(written, named)) for text, named in parts)


def _several(value: Value) -> Sequence[str]:
    return [value] if isinstance(value, str) else value

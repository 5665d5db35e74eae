"""Words for people: counts, suggestions for a misspelt name, and what a validation found."""

from __future__ import annotations

import math
import types
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

IN_PLAIN_WORDS = {
    "tuple_type": "input should be a list",
    "model_type": "input should be a table",
    "dict_type": "input should be a table",
}
"""Of kinds of problems that pydantic names by Python's types: what they are called in TOML."""


def plural(count: int | str, word: str) -> str:
    """Count something; a count may be as it was recorded."""
    return f"{count} {word}{'s' * (str(count) != '1')}"


def size_in_words(n_bytes: float) -> str:
    """A size with the unit that suits it, as `1.26 kB` or `13 GB`."""
    if n_bytes < 1000:
        return plural(f"{n_bytes:.0f}", "byte")
    units = ("kB", "MB", "GB", "TB")
    power = min(len(units), int(math.log10(n_bytes)) // 3)
    return f"{n_bytes / 1000**power:.3g} {units[power - 1]}"


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Name the nearest known word, or all of them."""
    names = sorted(known)
    close = get_close_matches(given, names, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(names)}"


def first_problem(error: ValidationError, model: type[BaseModel]) -> str:
    """Say the first problem that pydantic found, as one clause with the key's full name."""
    problems = error.errors(include_url=False)
    # A misspelt key is also a missing one: the first says what to do about both.
    found = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    key = ".".join(str(part) for part in found["loc"])
    if found["type"] == "extra_forbidden":
        fields = _fields_at(model, found["loc"][:-1])
        return f"unknown key {key!r}; {did_you_mean(str(found['loc'][-1]), fields)}"
    if found["type"] == "missing":
        return f"key {key!r} is missing"
    # A validator's own sentence comes with pydantic's prefix before it.
    said = IN_PLAIN_WORDS.get(found["type"], found["msg"].removeprefix("Value error, "))
    if not key:
        return said
    # A whole table would hide the sentence.
    given = "" if isinstance(found["input"], dict) else f" (given: {found['input']!r})"
    return f"{key!r}: {said[0].lower()}{said[1:]}{given}"


def _fields_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Names of the fields of the model that a location inside `model` leads to."""
    current: object = model
    for part in location:
        if isinstance(current, type) and issubclass(current, BaseModel):
            field = current.model_fields.get(str(part))
            current = field.annotation if field else None
        else:
            # Inside a dict or tuple the next part is a key or index of its values.
            arguments = [a for a in get_args(current) if a is not Ellipsis]
            current = arguments[-1] if arguments else None
        if get_origin(current) in {Union, types.UnionType}:
            current = next(a for a in get_args(current) if a is not type(None))
    if isinstance(current, type) and issubclass(current, BaseModel):
        return list(current.model_fields)
    return []

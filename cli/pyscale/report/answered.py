"""Answers of the first screen, worded by the template of their kind of work.

A template has, for each answer, a line `== Question | what it answers`, and below it what a glance
must catch, `|`, and the rest. Lines are joined, with a space but before punctuation. A tuple is a
cell, whose numbers stay tied to their CSV.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jinja2 import Environment

from pyscale.report.dictionary import WAYS
from pyscale.report.page import values as tied_values
from pyscale.report.page.values import Cell, Numbers, Value
from pyscale.report.section import Answer
from pyscale.report.templating import templates

TIED = {name: own for name, own in vars(tied_values).items() if isinstance(own, Numbers)}
"""Tables that numbers of answers stand in, as templates call them."""
FIRST_MARK = 0xE000
"""Marks, of which a template has none by itself, stand for numbers while lines are joined."""


def answers(kind: str, **known: Any) -> tuple[Answer, ...]:
    """Word the answers of a kind of work from what is known."""
    text, *tied = _environment().get_template(f"{kind}.j2").render(known).split("\0")
    values = [Value.model_validate_json(one) for one in tied[::2]]
    for place, after in enumerate(tied[1::2]):
        text += f"{chr(FIRST_MARK + place)}{after}"
    found = []
    for one in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        heading, _, said = one.partition("\n")
        question, _, what = heading.rpartition(" | ")
        head, _, rest = said.partition("|")
        cells = (_cell(_joined(part), values) for part in (head.strip(), f" {rest.strip()}"))
        found.append(Answer(question, what.strip(), *cells))
    return tuple(found)


def _joined(text: str) -> str:
    return re.sub(r"\s+(?=[,;:.)\]])", "", re.sub(r"\s+", " ", text))


def _cell(text: str, values: list[Value]) -> Cell:
    parts = re.split("([\ue000-\uf8ff])", text)
    return tuple(
        values[ord(part) - FIRST_MARK] if place % 2 else part
        for place, part in enumerate(parts)
        if part
    )


@cache
def _environment() -> Environment:
    made = templates()
    made.finalize = _finalized
    made.globals |= {"WAYS": WAYS, **TIED}
    return made


def _finalized(shown: Any) -> Any:
    if not isinstance(shown, tuple):
        return shown
    return "".join(
        f"\0{part.model_dump_json()}\0" if isinstance(part, Value) else part for part in shown
    )

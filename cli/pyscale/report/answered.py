"""Answers of the first screen, worded by the template of their kind of work.

A template has, for each answer, a line `== Question | what it answers`, and below it what a glance
must catch, `|`, and the rest. Lines are joined, with a space but before punctuation. A tuple is a
cell, whose numbers stay tied to their CSV.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pyscale.report.dictionary import WAYS
from pyscale.report.page import values
from pyscale.report.page.values import Cell, Numbers, Value
from pyscale.report.section import Answer
from pyscale.report.templating import templates

TIED = {name: own for name, own in vars(values).items() if isinstance(own, Numbers)}
"""Tables that numbers of answers stand in, as templates call them."""
FIRST_MARK = 0xE000
"""Marks, of which a template has none by itself, stand for numbers while lines are joined."""


def answers(kind: str, **known: Any) -> tuple[Answer, ...]:
    """Word the answers of a kind of work from what is known."""
    tied: list[Value] = []

    def marked(shown: Any) -> Any:
        if not isinstance(shown, tuple):
            return shown
        text = ""
        for part in shown:
            text += part if isinstance(part, str) else chr(FIRST_MARK + len(tied))
            tied.extend([part] * isinstance(part, Value))
        return text

    environment = templates()
    environment.finalize = marked
    environment.globals |= {"WAYS": WAYS, **TIED}
    text = environment.get_template(f"{kind}.j2").render(known)
    found = []
    for one in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        heading, _, said = one.partition("\n")
        question, _, what = heading.rpartition(" | ")
        head, _, rest = said.partition("|")
        cells = (_cell(_joined(part), tied) for part in (head.strip(), f" {rest.strip()}"))
        found.append(Answer(question, what.strip(), *cells))
    return tuple(found)


def _joined(text: str) -> str:
    return re.sub(r"\s+(?=[,;:.)\]])", "", re.sub(r"\s+", " ", text))


def _cell(text: str, tied: Sequence[Value]) -> Cell:
    parts = re.split("([\ue000-\uf8ff])", text)
    return tuple(
        tied[ord(part) - FIRST_MARK] if place % 2 else part
        for place, part in enumerate(parts)
        if part
    )

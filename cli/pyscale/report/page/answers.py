"""Answers of the first screen that are laid out as they come: a question, its head and the rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyscale.analysis.trust import Trust, Trusted
from pyscale.report.page.values import Cell, cell_text


@dataclass(frozen=True)
class Answer:
    """One answer: a word for the question, what a glance must catch, and the rest.

    Tests and scripts find it on the page by `answers`, in `data-answer`.
    """

    question: str
    answers: str
    head: Cell
    rest: Cell

    @property
    def text(self) -> str:
        """The whole of it as one sentence."""
        return f"{self.question}: {cell_text((*self.head, *self.rest))}"


@dataclass(frozen=True)
class Answered:
    """What a reader in a hurry must know of one sweep of a grid, or of one machine."""

    name: str
    answers: tuple[Answer, ...]
    trust: Trust
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, name: str, answers: Iterable[Answer], trusted: Trusted) -> Answered:
        """Put answers beside the trust in them."""
        return cls(name, tuple(answers), trusted.grade, (*trusted.reasons, *trusted.notes))

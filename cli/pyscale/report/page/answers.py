"""Answers of the first screen that are laid out as they come: a question, its head and the rest."""

from __future__ import annotations

from pydantic import Field

from pyscale.report.page.values import Cell
from pyscale.report.trust import Trust
from pyscale_stages.contract import Record


class Answer(Record):
    """One answer: a word for the question, what a glance must catch, and the rest."""

    question: str
    answers: str = Field(description="What it answers, for tests and scripts: `data-answer`")
    head: Cell
    rest: Cell


class Answered(Record):
    """What a reader in a hurry must know of one sweep of a grid, or of one machine."""

    name: str
    answers: tuple[Answer, ...]
    trust: Trust
    reasons: tuple[str, ...]

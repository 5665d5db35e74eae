"""One answer on reconstruction over ranks."""

from __future__ import annotations

from dataclasses import dataclass

from pyscale.report.machine.tables import cell_text
from pyscale.report.page.values import Cell


@dataclass(frozen=True)
class Said:
    """One answer: what a glance must catch, and the rest of the sentence."""

    question: str
    answers: str
    head: Cell
    rest: Cell

    @property
    def text(self) -> str:
        """The whole of it as one sentence."""
        return f"{self.question}: {cell_text((*self.head, *self.rest))}"

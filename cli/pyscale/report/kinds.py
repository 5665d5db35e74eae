"""Every kind of work beside stages over N: what a report says of it, and what is advised."""

from __future__ import annotations

from collections.abc import Iterator

from pyscale.report.advice import RankAdvice
from pyscale.report.grid import section as grid
from pyscale.report.machine import section as machine
from pyscale.report.ranks import loader, reconstruct
from pyscale.report.results import Results
from pyscale.report.section import Section

KINDS = (grid.section, reconstruct.section, loader.section, machine.section)
"""What tells of each kind, in the order of a report."""
FIRST = ("request", "settings")
"""Answers that say what to ask for."""


def sections_of(results: Results) -> list[Section]:
    """Tell of each kind of work that a report has."""
    return [section for tell in KINDS if (section := tell(results)) is not None]


def rank_advice(results: Results) -> Iterator[RankAdvice]:
    """Give what is advised of each kind of ranks' work, as the first screen answers it."""
    for section in sections_of(results):
        for answered in section.answered if section.advises else ():
            ordered = sorted(answered.answers, key=lambda one: one.answers not in FIRST)
            assert answered.trust is not None
            yield RankAdvice(
                name=answered.name,
                answers=tuple(one.text for one in ordered),
                lines=tuple(line for _, line in section.paste),
                trust=answered.trust,
                reasons=answered.reasons,
            )

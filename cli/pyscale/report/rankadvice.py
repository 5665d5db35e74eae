"""What is advised of ranks: as the report's first screen answers it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyscale.report.advice import RankAdvice
from pyscale.report.loader import section as of_loading
from pyscale.report.page.answers import Answered
from pyscale.report.reconstruct import section as of_reconstruction
from pyscale.report.results import Results

FIRST = ("request", "settings")
"""Answers that say what to ask for."""


def rank_advice(results: Results) -> Iterator[RankAdvice]:
    """Give what is advised of each loading and each reconstruction of which anything was timed."""
    if (loading := of_loading.section(results)) is not None:
        yield from _advice(loading["verdict"], [line for _, line in loading["paste"]])
    if (reconstruction := of_reconstruction.section(results)) is not None:
        for answered in reconstruction["verdicts"]:
            yield from _advice(answered)


def _advice(answered: Answered, lines: Sequence[str] = ()) -> Iterator[RankAdvice]:
    ordered = sorted(answered.answers, key=lambda one: one.answers not in FIRST)
    if ordered:
        yield RankAdvice(
            name=answered.name,
            answers=tuple(one.text for one in ordered),
            lines=tuple(lines),
            trust=answered.trust,
            reasons=answered.reasons,
        )

"""What is advised of ranks: as the report's first screen answers it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from pyscale.analysis.loader.findings import LoaderFindings
from pyscale.analysis.reconstruct.findings import ReconstructFindings
from pyscale.report.advice import RankAdvice
from pyscale.report.loader.answer import to_paste
from pyscale.report.loader.verdict import verdict
from pyscale.report.page.answers import Answered
from pyscale.report.reconstruct.parts import Parts
from pyscale.report.reconstruct.verdict import verdicts

FIRST = ("request", "settings")
"""Answers that say what to ask for."""


def rank_advice(
    loader: LoaderFindings | None,
    reconstruct: ReconstructFindings | None,
    configurations: pl.DataFrame,
) -> Iterator[RankAdvice]:
    """Give what is advised of each loading and each reconstruction of which anything was timed."""
    if loader is not None and not loader.points.is_empty():
        row = loader.chosen
        lines = [line for _, line in to_paste(row)] if row else []
        yield from _advice(verdict(loader, configurations), lines)
    if reconstruct is not None and not reconstruct.points.is_empty():
        advised = {one.stage: one for one in reconstruct.answers}
        for answered in verdicts(Parts.of(reconstruct), advised, configurations):
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

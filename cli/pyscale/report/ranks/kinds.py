"""Every kind of work that ranks do together: what a report says of it, and what is advised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import polars as pl

from pyscale.analysis.ranks.loader import LoaderFindings
from pyscale.analysis.ranks.reconstruct import ReconstructFindings
from pyscale.analysis.ranks.work import RankFindings
from pyscale.report.advice import RankAdvice
from pyscale.report.ranks import loader, reconstruct
from pyscale.report.ranks.section import Found, Section

FIRST = ("request", "settings")
"""Answers that say what to ask for."""


def sections_of(
    found: Iterable[RankFindings],
    configurations: pl.DataFrame,
    references: Mapping[str, Found] | None = None,
) -> list[Section]:
    """Tell of each kind of work that has a configuration.

    Parameters
    ----------
    found : iterable of RankFindings
    configurations : polars.DataFrame
        Of all entries, whose trials may raise flags that no finding has.
    references : mapping of str to iterable of (Reference, polars.DataFrame), optional
        By kind; see `pyscale.report.results.Results`.
    """
    sections = []
    for one in found:
        beside = (references or {}).get(one.kind, ())
        if isinstance(one, LoaderFindings):
            sections.append(loader.section(one, configurations, beside))
        elif isinstance(one, ReconstructFindings):
            sections.append(reconstruct.section(one, configurations, beside))
    return sections


def rank_advice(
    found: Iterable[RankFindings], configurations: pl.DataFrame
) -> Iterator[RankAdvice]:
    """Give what is advised of each kind, as the report's first screen answers it."""
    for section in sections_of(found, configurations):
        for answered in section.answered:
            ordered = sorted(answered.answers, key=lambda one: one.answers not in FIRST)
            yield RankAdvice(
                name=answered.name,
                answers=tuple(one.text for one in ordered),
                lines=tuple(line for _, line in section.paste),
                trust=answered.trust,
                reasons=answered.reasons,
            )

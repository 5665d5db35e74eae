"""Every kind of work beside stages over N: what a report says of it, and what is advised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import polars as pl

from pyscale.analysis.ranks.loader import LoaderFindings
from pyscale.analysis.ranks.reconstruct import ReconstructFindings
from pyscale.analysis.ranks.work import RankFindings
from pyscale.report.advice import RankAdvice
from pyscale.report.grid import section as grid
from pyscale.report.machine import section as machine
from pyscale.report.ranks import loader, reconstruct
from pyscale.report.results import Results
from pyscale.report.section import References, Section

FIRST = ("request", "settings")
"""Answers that say what to ask for."""


def sections_of(results: Results) -> list[Section]:
    """Tell of each kind of work that a report has."""
    of_ranks = rank_sections(results.ranks, results.configurations, results.rank_references)
    found = (grid.section(results), *of_ranks, machine.section(results))
    return [one for one in found if one is not None]


def rank_sections(
    found: Iterable[RankFindings],
    configurations: pl.DataFrame,
    references: Mapping[str, References] | None = None,
) -> list[Section]:
    """Tell of each kind of work of ranks that has a configuration.

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
    for section in rank_sections(found, configurations):
        for answered in section.answered:
            ordered = sorted(answered.answers, key=lambda one: one.answers not in FIRST)
            assert answered.trust is not None
            yield RankAdvice(
                name=answered.name,
                answers=tuple(one.text for one in ordered),
                lines=tuple(line for _, line in section.paste),
                trust=answered.trust,
                reasons=answered.reasons,
            )

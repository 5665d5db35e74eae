"""Section of a report on loading patches: answer, advice, tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyscale.report import sentences
from pyscale.report.loader import answer, published, tables, told
from pyscale.report.loader.verdict import QUESTION, verdict
from pyscale.report.loader.words import names_of
from pyscale.report.results import Results

MOST_RANKS = 24
"""More rows of ranks are left to the CSV and the page; the text has the advised ones."""


def section(results: Results) -> dict[str, Any] | None:
    """Collect what the templates name; None where no patches were loaded."""
    findings = results.loader
    if findings is None or findings.points.is_empty():
        return None
    points = findings.points.to_dicts()
    names = names_of(points)
    # One rank alone has nothing that the tables of configurations have not.
    every_rank = findings.ranks.filter(findings.ranks["workers"] > 1).to_dicts()
    row = findings.chosen
    own = [
        one for one in every_rank if row and all(one[of] == row[of] for of in ("stage", "workers"))
    ]
    is_long = len(every_rank) > MOST_RANKS
    return {
        "title": QUESTION,
        "heading": "Patch loading",
        "ran": told.ran(points),
        "verdict": verdict(findings, results.configurations),
        "feeds": said.text if (said := answer.feeds(findings)) else answer.NOT_TIMED,
        "advised": [
            f"Take {answer.settings(findings, advice).text} It gives up "
            f"{_lowered(answer.given_up(findings, advice).text)}"
            for advice in reversed(findings.advices)
        ],
        "paste": answer.to_paste(row) if row else [],
        "pasted": names[row["stage"]] if row else None,
        "same": [*told.same(points), *told.same_patches(findings, names)],
        "apart": [
            *told.measured_beside_inferred(points, names),
            *told.stragglers(points, names),
        ],
        "tables": [
            shown
            for shown in (
                tables.rates(points, names),
                tables.diversity(points, names, findings.keep),
                tables.waits(points, names),
            )
            if shown is not None
        ],
        "ranks": tables.of_ranks(every_rank, names),
        "ranks_in_short": tables.of_ranks(own if is_long else every_rank, names),
        "is_long": is_long,
        "published": published.beside(results.loader_references, points, names),
        "doubts": list(doubts(results)),
        "not_measured": list(told.not_measured(points)),
    }


def doubts(results: Results) -> Iterator[str]:
    """Give every flag once of configurations, and those of the trials that they are made of."""
    if results.loader is None:
        return
    points = results.loader.points.to_dicts()
    yield from told.doubts(points, names_of(points))
    yield from sentences.doubts_of_trials(results.configurations, results.loader_entries, points)


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]

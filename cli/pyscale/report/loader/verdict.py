"""Short answers on loading patches: the verdict, the settings, the doubts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from pyscale.analysis.flags import flags_of_trials
from pyscale.analysis.trust import trust_in_loading
from pyscale.report.loader import answer
from pyscale.report.page.answers import Answer, Answered

if TYPE_CHECKING:
    from pyscale.analysis.loader.findings import LoaderFindings

QUESTION = "Can storage feed the GPU?"


def verdict(findings: LoaderFindings, configurations: pl.DataFrame) -> Answered:
    """Answer whether storage feeds the GPU, with which settings, and with which trust."""
    row = findings.chosen
    of_trials = flags_of_trials(configurations, [row["stage"]] if row else [])
    trusted = trust_in_loading(findings, of_trials)
    return Answered.of(QUESTION, _answers(findings), trusted)


def _answers(findings: LoaderFindings) -> Iterator[Answer]:
    advice = findings.advice
    advised = advice and (answer.settings(findings, advice), answer.given_up(findings, advice))
    for question, answers, said in (
        ("Feeds", "feeds", answer.feeds(findings)),
        *zip(("Take", "Gives up"), ("settings", "given-up"), advised or (), strict=False),
    ):
        if said is not None:
            yield Answer(question=question, answers=answers, head=said.head, rest=said.rest)

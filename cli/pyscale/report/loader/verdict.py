"""Short answers on loading patches: the verdict, the settings, the doubts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyscale.analysis.flags import FLAGS
from pyscale.analysis.trust import NEUTRAL_OF_RATES, Trust
from pyscale.report.loader import answer
from pyscale.report.ofranks import Row, flags_of
from pyscale.report.page.answers import Answer, Answered

if TYPE_CHECKING:
    from pyscale.analysis.loader.findings import LoaderFindings

QUESTION = "Can storage feed the GPU?"


def verdict(findings: LoaderFindings, of_trials: Sequence[str] = ()) -> Answered:
    """Answer whether storage feeds the GPU, with which settings, and with which trust."""
    trust, reasons = trust_in(findings, of_trials)
    return Answered(
        name=QUESTION, answers=tuple(_answers(findings)), trust=trust, reasons=tuple(reasons)
    )


def trust_in(findings: LoaderFindings, of_trials: Sequence[str]) -> tuple[Trust, list[str]]:
    """Judge the configuration that is told of by its flags, and by those of its trials."""
    row = answer.chosen(findings)
    if row is None:
        return "no", ["no timed configuration"]
    raised = flags_of(row)
    if "disagrees" in raised:
        return "no", [FLAGS["disagrees"].short]
    failed = {one["stage"] for one in findings.points.to_dicts() if one["patches_per_s"] is None}
    every = dict.fromkeys((*raised, *of_trials))
    reasons = [FLAGS[code].short for code in every if code not in NEUTRAL_OF_RATES]
    notes = [FLAGS[code].short for code in every if code in NEUTRAL_OF_RATES]
    if failed:
        many = "1 configuration" if len(failed) == 1 else f"{len(failed)} configurations"
        reasons.append(f"{many} failed")
    told = list(dict.fromkeys(reasons or _in_favour(row)))
    return ("with care" if reasons else "yes"), [*told, *notes]


def _answers(findings: LoaderFindings) -> Iterator[Answer]:
    advice = findings.advice
    advised = advice and (answer.settings(findings, advice), answer.given_up(findings, advice))
    for question, answers, said in (
        ("Feeds", "feeds", answer.feeds(findings)),
        *zip(("Take", "Gives up"), ("settings", "given-up"), advised or (), strict=False),
    ):
        if said is not None:
            yield Answer(question=question, answers=answers, head=said.head, rest=said.rest)


def _in_favour(row: Row) -> Iterator[str]:
    if row["cache_state"] == "verified-cold":
        yield "cold cache verified"
    yield f"{row['repeats']} trials"

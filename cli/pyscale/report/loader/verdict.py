"""What a reader in a hurry must know of loading patches: the answer, the settings, the doubts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyscale.report.loader import answer
from pyscale.report.loader.told import IN_SHORT
from pyscale.report.ofranks import Row, flags_of
from pyscale.report.page.answers import Answer, Answered
from pyscale.report.trust import Trust

if TYPE_CHECKING:
    from pyscale.analysis.loader.findings import LoaderFindings

QUESTION = "Can storage feed the GPU?"


def verdict(findings: LoaderFindings, of_trials: Sequence[str] = ()) -> Answered:
    """Answer whether storage feeds the GPU, with which settings, and whether to trust that.

    Parameters
    ----------
    findings : LoaderFindings
    of_trials : sequence of str
        Flags of the trials that the configurations do not repeat.
    """
    trust, reasons = trust_in(findings, of_trials)
    return Answered(
        name=QUESTION, answers=tuple(_answers(findings)), trust=trust, reasons=tuple(reasons)
    )


def trust_in(findings: LoaderFindings, of_trials: Sequence[str]) -> tuple[Trust, list[str]]:
    """Judge the configuration that is told of by its flags, and by those of its trials."""
    row = answer.chosen(findings)
    if row is None:
        return "no", ["no configuration was timed"]
    raised = flags_of(row)
    if "checksum-differs" in raised:
        return "no", [IN_SHORT["checksum-differs"]]
    failed = {one["stage"] for one in findings.points.to_dicts() if one["patches_per_s"] is None}
    reasons = [*(IN_SHORT[code] for code in (*raised, *of_trials))]
    if failed:
        many = "1 configuration" if len(failed) == 1 else f"{len(failed)} configurations"
        reasons.append(f"{many} failed")
    told = list(dict.fromkeys(reasons))
    return ("with care", told) if told else ("yes", list(_in_favour(row)))


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
        yield "the page cache was verified to be cold"
    yield f"{row['repeats']} trials"
    yield "no doubts"

"""What a reader in a hurry must know of one reconstruction: how it scales, and the doubts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyscale.report.ofranks import flags_of
from pyscale.report.page.answers import Answer, Answered
from pyscale.report.reconstruct import answer
from pyscale.report.reconstruct.parts import Parts
from pyscale.report.reconstruct.told import IN_SHORT
from pyscale.report.trust import Trust
from pyscale.report.wording import listing

if TYPE_CHECKING:
    from pyscale.analysis.reconstruct.answers import ReconstructAnswer

AGAINST = ("gate-differs", "disagrees", "check-failed")
"""Flags by which times may be those of other work."""
NO_DOUBTS = ("other-work",)
"""Flags that say nothing against a number: it stands beside with its correction."""


def verdict(
    parts: Parts, stage: str, advised: ReconstructAnswer | None, of_trials: Sequence[str] = ()
) -> Answered:
    """Answer how one entry scales, what holds it back, and whether to trust that.

    Parameters
    ----------
    parts : Parts
    stage : str
        The entry.
    advised : ReconstructAnswer or None
        What the analysis advises for it.
    of_trials : sequence of str
        Flags of its trials that the points do not repeat.
    """
    trust, reasons = trust_in(parts, stage, advised, of_trials)
    return Answered(
        name=parts.names[stage],
        answers=tuple(
            Answer(question=said.question, answers=said.answers, head=said.head, rest=said.rest)
            for said in answer.answers(parts, stage, advised)
        ),
        trust=trust,
        reasons=tuple(reasons),
    )


def trust_in(
    parts: Parts, stage: str, advised: ReconstructAnswer | None, of_trials: Sequence[str]
) -> tuple[Trust, list[str]]:
    """Judge an entry by the flags of all that its answers rest on, and by those of its trials."""
    if advised is None:
        return "no", ["no trial counts"]
    every = {code for row in parts.own(stage) for code in flags_of(row)} | set(of_trials)
    if against := [IN_SHORT[code] for code in AGAINST if code in every]:
        return "no", against
    rows = answer.decisive(parts, advised)
    raised = [*(code for row in rows for code in flags_of(row)), *of_trials]
    reasons = [IN_SHORT[code] for code in raised if code not in NO_DOUBTS]
    lost = [row["workers"] for row in parts.own(stage) if row["wall_s"] is None]
    if lost:
        reasons.append(f"nothing was timed with N = {listing(lost)}")
    if reasons:
        return "with care", list(dict.fromkeys(reasons))
    agrees = any(row["gate"] == "agrees" for row in rows)
    fewest = min(row["repeats"] for row in rows)
    return "yes", [
        *(["ranks agree with one"] if agrees else []),
        f"{fewest} trials of each",
        "no doubts",
    ]

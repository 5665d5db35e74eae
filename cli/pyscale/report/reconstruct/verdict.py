"""Short answers on one reconstruction: how it scales, and the doubts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyscale.analysis.flags import FLAGS
from pyscale.analysis.trust import NEUTRAL, Trust
from pyscale.report.ofranks import flags_of
from pyscale.report.page.answers import Answered
from pyscale.report.reconstruct import answer
from pyscale.report.reconstruct.parts import Parts
from pyscale.report.wording import listing

if TYPE_CHECKING:
    from pyscale.analysis.reconstruct.answers import ReconstructAnswer

AGAINST = ("disagrees", "check-failed")
"""Flags by which times may be those of other work."""


def verdict(
    parts: Parts, stage: str, advised: ReconstructAnswer | None, of_trials: Sequence[str] = ()
) -> Answered:
    """Answer how one entry scales, what holds it back, and whether to trust that."""
    trust, reasons = trust_in(parts, stage, advised, of_trials)
    return Answered(
        name=parts.names[stage],
        answers=tuple(answer.answers(parts, stage, advised)),
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
    if against := [FLAGS[code].short for code in AGAINST if code in every]:
        return "no", against
    rows = answer.decisive(parts, advised)
    raised = dict.fromkeys([*(code for row in rows for code in flags_of(row)), *of_trials])
    reasons = [FLAGS[code].short for code in raised if code not in NEUTRAL]
    notes = [FLAGS[code].short for code in raised if code in NEUTRAL]
    lost = [row["workers"] for row in parts.own(stage) if row["wall_s"] is None]
    if lost:
        reasons.append(f"no timed trial at N = {listing(lost)}")
    if reasons:
        return "with care", [*dict.fromkeys(reasons), *notes]
    agrees = any(row["gate"] == "agrees" for row in rows)
    fewest = min(row["repeats"] for row in rows)
    return "yes", [
        *(["ranks agree with one"] if agrees else []),
        f"{fewest} trials of each",
        *notes,
    ]

"""Short answers on one reconstruction: how it scales, and the doubts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyscale.analysis.trust import trust_in_reconstruction
from pyscale.report.page.answers import Answered
from pyscale.report.reconstruct import answer
from pyscale.report.reconstruct.parts import Parts

if TYPE_CHECKING:
    from pyscale.analysis.reconstruct.answers import ReconstructAnswer


def verdict(
    parts: Parts, stage: str, advised: ReconstructAnswer | None, of_trials: Sequence[str] = ()
) -> Answered:
    """Answer how one entry scales, what holds it back, and whether to trust that."""
    trusted = trust_in_reconstruction(parts.own(stage), advised, of_trials)
    return Answered.of(parts.names[stage], answer.answers(parts, stage, advised), trusted)

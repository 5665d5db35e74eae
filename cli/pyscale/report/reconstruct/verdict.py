"""Short answers on one reconstruction: how it scales, and the doubts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import polars as pl

from pyscale.analysis.flags import flags_of_trials
from pyscale.analysis.trust import trust_in_reconstruction
from pyscale.report.page.answers import Answered
from pyscale.report.reconstruct import answer
from pyscale.report.reconstruct.parts import Parts

if TYPE_CHECKING:
    from pyscale.analysis.reconstruct.answers import ReconstructAnswer


def verdicts(
    parts: Parts, advised: Mapping[str, ReconstructAnswer], configurations: pl.DataFrame
) -> Iterator[Answered]:
    """Answer how each entry scales, what holds it back, and whether to trust that."""
    for stage, name in parts.names.items():
        own, of_trials = advised.get(stage), flags_of_trials(configurations, [stage])
        trusted = trust_in_reconstruction(parts.own(stage), own, of_trials)
        yield Answered.of(name, answer.answers(parts, stage, own), trusted)

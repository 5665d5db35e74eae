"""Warnings of the stages, one sentence for each code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl
from pydantic import Field

from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.warned import StageWarning, stage_warnings
from pyscale.wording import grouped, titled
from pyscale_stages.contract import Record

DOUBTED = "the result may be wrong"


class Said(Record):
    """The warning of one stage under one code."""

    stage: str = Field(description="Entry of the suite; of the points of a grid that of the grid")
    code: str
    doubts_result: bool = Field(description="Whether the result may be wrong for it")
    sentence: str

    @property
    def head(self) -> str:
        """The stage, and whether its result is in doubt."""
        return f"{self.stage}, {DOUBTED}" if self.doubts_result else self.stage


def said(trials: pl.DataFrame, grids: Iterable[GridFindings] = ()) -> tuple[Said, ...]:
    """Give the worst warning of each stage under each code over all N, the doubted ones first.

    The points of a grid count as one stage.
    """
    families = {
        stage: family
        for grid in grids
        for stage, family in grid.points.select("stage", "family").iter_rows()
    }
    groups = grouped(
        ((families.get(one.stage, one.stage), one.worst.code), one)
        for one in stage_warnings(trials)
    )
    found = [_said(family, own) for (family, _), own in groups.items()]
    return tuple(sorted(found, key=lambda one: not one.doubts_result))


def shortly(one: Said) -> str:
    """The stage and the first sentence: the report has the rest."""
    first, _, _ = one.sentence.partition(". ")
    return f"{one.head}: {first.rstrip('.')}."


def _said(family: str, warnings: Sequence[StageWarning]) -> Said:
    worst = max(warnings, key=lambda one: one.share).worst
    points = len({one.stage for one in warnings})
    others = max(one.others for one in warnings)
    sentence = f"{titled(worst.sentence).rstrip('.')}."
    sentence += f" ({points} points of the grid.)" if points > 1 else ""
    sentence += f" ({others} similar: provenance_manifest.json.)" if others else ""
    return Said(stage=family, code=worst.code, doubts_result=worst.doubts_result, sentence=sentence)

"""Sentences on two runs, two tables of wall times or two versions that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl
from pydantic import Field

from pyscale.analysis.intervals import CONFIDENCE
from pyscale.analysis.judging import FALSE_ALARMS, MARGIN, SIDES
from pyscale.planning.runfacts import Difference
from pyscale.report.judged import TESTS, TIMES, Row, conclusions, judged_together, named, percent
from pyscale.report.templating import templates
from pyscale.wording import ABSENT, grouped, listing, quality, score
from pyscale_stages.contract import Record


def words(at_least: float = MARGIN) -> dict[str, str]:
    """Put each verdict as people read it, for whom `worse` could be more than the time."""
    perhaps = f"perhaps by less than {percent(at_least)}"
    return {
        "worse": "slower",
        "slower": f"slower, {perhaps}",
        "better": "faster",
        "faster": f"faster, {perhaps}",
        "same": "same",
        "not enough data": "not enough data",
    }


class OutputComparison(Record):
    """Whether a stage's outputs are the same in both runs, or in both versions of one run."""

    stage: str
    found: Literal["same", "agrees", "different", "unknown"] = Field(
        description="Of runs by the bytes of the reference outputs; of versions by the stage's own "
        "check, which also says that they agree; unknown where one of them left no record"
    )
    score: float | None = Field(None, description="Of versions: the lowest at any N")
    tolerance: float | None = Field(None, description="The smallest that counts as the same")
    measure: str | None = Field(None, description="What the score is, in words")
    files: tuple[str, ...] = Field((), description="Files that differ, or that one run lacks")
    read_by: tuple[str, ...] = Field((), description="Stages whose input the output is")


@dataclass(frozen=True)
class VersionComparison:
    """What the two versions that one run measured show.

    The table is as `pyscale.analysis.comparison.comparison` gives it, with `output_agreement`,
    `output_tolerance`, `output_identical` and `output_measure`: of the new output with the base's.
    """

    context: ComparisonContext
    table: pl.DataFrame


class ComparisonContext(Record):
    """What a comparison must say that no wall time holds."""

    base: str = Field(description="What the ratios are to, in words")
    new: str = Field(description="What is judged, in words")
    measured_here: bool = Field(description="Whether these are runs, not tables of wall times")
    differences: tuple[Difference, ...] = ()
    of_ranks: bool = Field(
        False, exclude=True, description="Whether ranks load or reconstruct together"
    )
    uncommitted: bool = Field(
        False, description="Both ran from one commit, with changes that nobody recorded"
    )
    missing: dict[str, str] = Field(
        default_factory=dict, description="How many planned trials left no record, by side"
    )
    outputs: tuple[OutputComparison, ...] = ()
    nothing_in_common: str | None = Field(
        None, exclude=True, description="What each measured, where nothing of it is the same"
    )
    at_least: float = Field(MARGIN, description="Least change that counts: 0.05 is 5 %")
    paired: bool = Field(False, description="Whether both were timed in the same blocks")
    interleaved: str | None = Field(
        None, description="Line that would time both in the same blocks; None where none does"
    )


def _said(macro: str, context: ComparisonContext, **values: Any) -> list[str]:
    environment = templates()
    environment.filters |= {"listing": listing, "score": score}
    template: Any = environment.get_template("comparison.j2").module
    return [line for line in getattr(template, macro)(context, **values).splitlines() if line]


def remarks(context: ComparisonContext) -> list[str]:
    """Say what the ratios compare beside the code."""
    return _said("remarks", context)


def output_remarks(context: ComparisonContext, rows: Sequence[Row]) -> list[str]:
    """Say whether both sides computed the same, and each the same at every N."""
    invalid = {
        side: [row for row in rows if row["verdict"] and row.get(f"{side}_invalid")]
        for side in SIDES
    }
    return _said(
        "outputs",
        context,
        invalid={side: named(own) for side, own in invalid.items() if own},
        qualities={output.stage: _qualities(output.stage, rows) for output in context.outputs},
    )


def conclusion(context: ComparisonContext, rows: Sequence[Row]) -> str | None:
    """Answer for each kind in a sentence, and say of stages whether both computed the same."""
    told = []
    for title, sentence in conclusions(rows, context.at_least):
        told.append(f"{title}: {sentence[0].lower()}{sentence[1:]}" if title else sentence)
        if not title and context.outputs:
            told.append(_outputs_in_short(context.outputs))
    return " ".join(told) or None


def _outputs_in_short(outputs: Sequence[OutputComparison]) -> str:
    """Whether both sides computed the same, as far as it was compared."""
    by_found = grouped((output.found, output.stage) for output in outputs)
    if "different" in by_found:
        return f"Outputs differ: {listing(by_found['different'])}."
    known = {"same": "same bytes", "agrees": "agree within tolerance", "unknown": "not compared"}
    parts = [f"{known[found]} ({listing(stages)})" for found, stages in by_found.items()]
    return f"Outputs: {known[outputs[0].found] if len(by_found) == 1 else ', '.join(parts)}."


def method(context: ComparisonContext, rows: Sequence[Row]) -> str | None:
    """Say what the verdicts mean, how often they are wrong, and what would be better."""
    tested = [row for row in rows if row["p_adjusted"] is not None]
    if not tested:
        return None
    kinds = {row["told_under"] for row in tested}
    told = _said(
        "method",
        context,
        together=judged_together(tested),
        of_tests=TESTS in kinds,
        of_runs="" in kinds,
        counts=percent(context.at_least),
        false_alarms=percent(FALSE_ALARMS),
        confidence=percent(CONFIDENCE),
    )
    return "\n".join(told)


def _qualities(stage: str, rows: Sequence[Row]) -> str:
    """Quality against the truth on both sides, at the lowest worker count that both have."""
    own = [row for row in rows if row["kind"] == TIMES and row["stage"] == stage]
    for row in sorted(own, key=lambda row: int(row["workers"])):
        measured = [quality(row[f"{side}_quality"] or "{}") for side in SIDES]
        if ABSENT not in measured:
            return (
                f" Quality against the truth at N = {row['workers']}: base {measured[0]}; "
                f"new {measured[1]}."
            )
    return ""

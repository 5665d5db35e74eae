"""Sentences on two runs, two tables of wall times or two versions that are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl
from pydantic import Field

from pyscale.analysis.comparison import UNITS, unit_between
from pyscale.analysis.intervals import CONFIDENCE
from pyscale.analysis.judging import FALSE_ALARMS, MARGIN, SIDES
from pyscale.planning.runfacts import Difference
from pyscale.report.judged import TESTS, TIMES, Row, conclusions, judged_together, named, percent
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


def remarks(context: ComparisonContext) -> Iterator[str]:
    """Say what the ratios compare beside the code."""
    if not context.measured_here:
        yield (
            "Tables of wall times hold no hardware, versions, settings or outputs: whether more "
            "than the code differs, and whether the results are the same, is unknown."
        )
        return
    if context.paired:
        return
    kinds = {difference.kind for difference in context.differences}
    if "hardware" in kinds:
        yield (
            "The runs were measured on different hardware: each ratio compares machines, not "
            "code alone."
        )
    elif "nodes" in kinds:
        yield (
            "The runs were measured on different nodes of one kind of hardware: part of a ratio "
            "may be the nodes'."
        )
    if "settings" in kinds:
        yield "Settings differ: each ratio compares them too, not code alone."
    if kinds == {"code"}:
        yield "As far as they were recorded, hardware and settings are the same: the code differs."
    if not kinds:
        yield (
            "Nothing that was recorded differs between the runs: a ratio shows what was not "
            "recorded, or chance."
        )
    if context.uncommitted:
        yield "Both ran from one commit with uncommitted changes, which may not be the same."
    for side, missing in context.missing.items():
        yield f"{side}: {missing} planned trials left no record."


def unit_remarks(context: ComparisonContext, rows: Sequence[Row]) -> Iterator[str]:
    """Say so where the times of two tables look like those of two units."""
    factor = None if context.measured_here else unit_between([row["ratio"] for row in rows])
    if factor is not None:
        yield (
            f"All ratios are close to {factor:g} or its inverse: if one of the tables is in "
            f"{UNITS[factor]}, convert it to seconds."
        )


OF_RUNS = {
    "different": "the reference outputs differ ({files}), and whether they agree within the "
    "stage's tolerance was not compared: the ratio may compare two different results.{readers}"
    "{qualities}",
    "unknown": "a reference output left no record, so whether both runs compute the same is "
    "unknown.",
}
OF_VERSIONS = {
    "agrees": "the outputs of both sides agree within the stage's tolerance: {compared}, at "
    "least {tolerance} counts as the same.",
    "different": "the outputs of the two sides differ: {compared}, and less than {tolerance} "
    "does not count as the same. The ratio compares two different results.{qualities}",
    "unknown": "the outputs of the two sides were not compared.",
}


def output_remarks(context: ComparisonContext, rows: Sequence[Row]) -> Iterator[str]:
    """Say whether both sides computed the same, and each the same at every N."""
    for side in SIDES:
        invalid = [row for row in rows if row["verdict"] and row.get(f"{side}_invalid")]
        if invalid:
            yield (
                f"Invalid in {side}: {named(invalid)}. The output there is not that of the run's "
                "own baseline, so the verdict compares two different results."
            )
    whose = "outputs of both sides" if context.paired else "reference outputs of both runs"
    same = [output.stage for output in context.outputs if output.found == "same"]
    if same:
        yield f"The {whose} have the same bytes: {listing(same)}."
    sentences = OF_VERSIONS if context.paired else OF_RUNS
    for output in context.outputs:
        if output.found in sentences:
            readers = f" What {listing(output.read_by)} read was therefore not the same."
            told = sentences[output.found].format(
                files=listing(output.files),
                readers=readers if output.read_by else "",
                compared=f"agreement {score(output.score)} ({output.measure})",
                tolerance=score(output.tolerance),
                qualities=_qualities(output.stage, rows),
            )
            yield f"{output.stage}: {told}"


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
    test, of = (
        ("Wilcoxon signed-rank tests", "the blocks that timed both")
        if context.paired
        else ("Mann-Whitney tests", "all timed trials")
    )
    counts = percent(context.at_least)
    told = [
        f"One-sided {test} of {of}, adjusted by Holm's method over all that is judged together and "
        f"has enough of them: {judged_together(tested)}. worse, better: the change is larger than "
        f"{counts}. slower, faster: there is a change beyond chance, perhaps of less than "
        f"{counts}. same: the interval lies within "
        f"{1 / (1 + context.at_least):.3f} to {1 + context.at_least:g}. Ratio and interval are "
        f"those of the test (Hodges-Lehmann); each end by itself is a {percent(CONFIDENCE)} bound. "
        "Where nothing takes longer, any worse or slower among what is judged together is seen in "
        f"at most {percent(FALSE_ALARMS)} of cases, as long as trials do not depend on each other."
    ]
    kinds = {row["told_under"] for row in tested}
    if TESTS in kinds:
        told.append(OF_TRIALS)
    if "" in kinds and not context.paired:
        told.append(SESSIONS)
        if context.interleaved is not None:
            told.append(f"To time both versions in the same blocks: `{context.interleaved}`.")
    return "\n".join(told)


OF_TRIALS = (
    "The trial of a test is the median over the repeats of its own process. The trials of a run "
    "follow each other within minutes: other work on the machine during one of the two runs makes "
    "that run slower."
)
SESSIONS = (
    "Sessions of one machine differ by themselves. In simulations of four configurations that did "
    "not change, sessions that differ by 3 % raise 32 % of false alarms (any worse or slower), "
    "versions in the same blocks 0.1 %."
)
"""As benchmarks/sim_compare.py prints."""


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

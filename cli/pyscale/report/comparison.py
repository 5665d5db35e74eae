"""What two runs, or two tables of wall times, show beside each other, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import polars as pl
from pydantic import Field

from pyscale.analysis.comparison import UNITS, unit_between
from pyscale.analysis.flags import LETTERS, SENTENCES
from pyscale.analysis.intervals import CONFIDENCE
from pyscale.analysis.judging import FALSE_ALARMS, MARGIN, reasons
from pyscale.report.wording import (
    ABSENT,
    INVALID,
    agreement,
    listing,
    number,
    quality,
    ratio,
    score,
    with_interval,
)
from pyscale.runfacts import Difference
from pyscale_stages.contract import Record

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

Row = dict[str, Any]

OF_AN_A_A_RUN = (
    "Nothing that was recorded differs between the versions: this is an A/A run, which shows what "
    "chance does here."
)
OTHER_RESULT = "other result"
"""Beside the verdict on a version whose output is not the base's: its time proves nothing."""
STYLES = {"worse": "bold red", "slower": "red", "better": "bold green", "faster": "green"}


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
    yardsticks: tuple[str, ...] = Field((), description="Further runs of the base's version")
    runs_differ_by: float | None = Field(
        None, description="Largest difference between two runs of the base's version"
    )


def remarks(context: ComparisonContext) -> Iterator[str]:
    """Say what the ratios compare beside the code, and how far runs of the same code differ."""
    if context.runs_differ_by is not None:
        found = f"Runs of the same version differ by up to {percent(context.runs_differ_by)}"
        if context.runs_differ_by < context.at_least:
            yield (
                f"{found}: only a larger change is slower or faster, and only one of more than "
                f"{percent(context.at_least)} worse or better."
            )
        else:
            yield f"{found}: only a larger change is worse or better."
    if not context.measured_here:
        yield (
            "Tables of wall times hold no hardware, versions, settings or outputs: whether more "
            "than the code differs, and whether the results are the same, is unknown."
        )
        return
    if context.paired:
        yield from () if context.differences else (OF_AN_A_A_RUN,)
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


def unit_remarks(context: ComparisonContext, table: pl.DataFrame) -> Iterator[str]:
    """Say so where the times of two tables look like those of two units."""
    factor = None if context.measured_here else unit_between(table)
    if factor is not None:
        yield (
            f"All ratios are close to {factor:g} or its inverse: if one of the tables is in "
            f"{UNITS[factor]}, convert it to seconds."
        )


def output_remarks(context: ComparisonContext, table: pl.DataFrame) -> Iterator[str]:
    """Say whether both sides computed the same, and each the same at every N."""
    for side in _SIDES:
        invalid = table.filter(f"{side}_invalid", table["verdict"].is_not_null()).to_dicts()
        if invalid:
            yield (
                f"Invalid in {side}: {named(invalid)}. The output there is not that of the run's "
                "own baseline, so the verdict compares two different results."
            )
    if context.paired:
        yield from _version_remarks(context.outputs, table)
        return
    same = [output.stage for output in context.outputs if output.found == "same"]
    if same:
        yield f"The reference outputs of both runs have the same bytes: {listing(same)}."
    for output in context.outputs:
        if output.found == "different":
            readers = (
                f" What {listing(output.read_by)} read was therefore not the same."
                if output.read_by
                else ""
            )
            yield (
                f"{output.stage}: the reference outputs differ ({listing(output.files)}), and "
                "whether they agree within the stage's tolerance was not compared: the ratio may "
                f"compare two different results.{readers}{_qualities(output.stage, table)}"
            )
        elif output.found == "unknown":
            yield (
                f"{output.stage}: a reference output left no record, so whether both runs "
                "compute the same is unknown."
            )


def _version_remarks(outputs: Sequence[OutputComparison], table: pl.DataFrame) -> Iterator[str]:
    """Say whether the new version of each stage computes what the base does."""
    same = [output.stage for output in outputs if output.found == "same"]
    if same:
        yield f"The outputs of both versions have the same bytes: {listing(same)}."
    for output in outputs:
        compared = f"agreement {score(output.score)} ({output.measure})"
        if output.found == "agrees":
            yield (
                f"{output.stage}: the outputs of both versions agree within the stage's tolerance: "
                f"{compared}, at least {score(output.tolerance)} counts as the same."
            )
        elif output.found == "different":
            yield (
                f"{output.stage}: the outputs of the two versions differ: {compared}, and less "
                f"than {score(output.tolerance)} does not count as the same. The ratio compares "
                f"two different results.{_qualities(output.stage, table)}"
            )
        elif output.found == "unknown":
            yield f"{output.stage}: the outputs of the two versions were not compared."


def conclusion(context: ComparisonContext, table: pl.DataFrame) -> str | None:
    """Answer in one sentence whether the new one is slower; None where nothing was compared."""
    said = in_short(table.to_dicts(), context.at_least)
    return said and f"{said}{_outputs_in_short(context)}"


def in_short(
    rows: Sequence[Row],
    at_least: float,
    times: str = "times as long",
    ways: tuple[str, str] = ("slower", "faster"),
) -> str | None:
    """Say which configurations are slower, faster or the same; None where none was judged."""
    rows = [row for row in rows if row["verdict"] is not None]
    if not rows:
        return None
    told = []
    for words_of, verdicts in (
        (f"{ways[0]} for {{}}", ("worse", "slower")),
        (f"{ways[1]} for {{}}", ("better", "faster")),
        (f"the same within {percent(at_least)} for {{}}", ("same",)),
    ):
        own = [row for row in rows if row["verdict"] in verdicts]
        if own:
            where = words_of.format("every configuration" if own == rows else named(own))
            told.append(f"{where}{'' if 'same' in verdicts else _so_many(own, times)}")
    unknown = [row for row in rows if row["verdict"] == "not enough data"]
    lacking = ""
    if unknown:
        where = "any configuration" if unknown == rows else named(unknown)
        lacking = f"not enough data for {where}, see --repeats"
    said = "; ".join(filter(None, (f"New is {', '.join(told)}" if told else "", lacking)))
    return f"{said[0].upper()}{said[1:]}."


def _so_many(rows: Sequence[Row], times: str) -> str:
    least, most = (ratio(choose(row["ratio"] for row in rows)) for choose in (min, max))
    return f" ({least if least == most else f'{least} to {most}'} {times})"


def _outputs_in_short(context: ComparisonContext) -> str:
    """Whether both sides computed the same, as far as it was compared."""
    by_found: dict[str, list[str]] = {}
    for output in context.outputs:
        by_found.setdefault(output.found, []).append(output.stage)
    if not by_found:
        return ""
    if "different" in by_found:
        return f" Outputs differ: {listing(by_found['different'])}."
    known = {"same": "same bytes", "agrees": "agree within tolerance", "unknown": "not compared"}
    parts = [f"{known[found]} ({listing(stages)})" for found, stages in by_found.items()]
    return f" Outputs: {known[next(iter(by_found))] if len(by_found) == 1 else ', '.join(parts)}."


def method(context: ComparisonContext, table: pl.DataFrame) -> str:
    """Say what the verdicts mean, how often they are wrong, and what would be better."""
    tested = table["p_adjusted"].count()
    test, of = (
        ("Wilcoxon signed-rank tests", "the blocks that timed both")
        if context.paired
        else ("Mann-Whitney tests", "all timed trials")
    )
    meaning = verdicts_mean(
        f"One-sided {test} of {of}, adjusted by Holm's method over all configurations that have "
        f"enough of them ({tested}).",
        "in a comparison",
        at_least=context.at_least,
        scatter=context.runs_differ_by,
    )
    if context.paired:
        return meaning
    told = [meaning]
    if context.runs_differ_by is None:
        told.append(f"{WRONG_MORE_OFTEN} {YARDSTICK}")
    if context.measured_here:
        told.append(INTERLEAVE)
    return "\n".join(told)


WRONG_MORE_OFTEN = (
    "In simulations of four configurations that did not change, any worse or slower was seen in "
    "53 % (worse: 8 %) where trials were correlated by 0.7 with the one before, and in 32 % "
    "(worse: 8 %) where the machine's speed differed between runs by a standard deviation of 3 %."
)
"""As benchmarks/sim_compare.py prints."""
YARDSTICK = (
    "`pyscale compare BASE NEW --yardstick RUN`, given two or more further runs of the base's "
    "version, only calls worse what exceeds their differences."
)
INTERLEAVE = (
    "Better still: `pyscale run SUITE --against BASE` times both versions in the same blocks."
)


def verdicts_mean(
    tests: str, where: str, *, at_least: float = MARGIN, scatter: float | None = None
) -> str:
    """Define the verdicts that such tests give, and say how often `where` one is wrong."""
    counts = max(at_least, scatter or 0.0)
    told = "beyond chance"
    if scatter is not None:
        told += " and beyond what runs of the same version differ by"
    return (
        f"{tests} worse, better: the change is larger than {percent(counts)}. slower, faster: "
        f"there is a change {told}, perhaps of less than {percent(counts)}. same: the interval "
        f"lies within {1 / (1 + at_least):.3f} to {1 + at_least:g}. Ratio and interval are those "
        f"of the test (Hodges-Lehmann); each end by itself is a {percent(CONFIDENCE)} bound. Where "
        f"nothing takes longer, any worse or slower {where} is seen in at most "
        f"{percent(FALSE_ALARMS)} of cases, as long as trials do not depend on each other."
    )


def percent(share: float) -> str:
    """Print a share as 5 %, with the digits that it has."""
    return f"{100 * share:.3g} %"


def named(rows: Sequence[Row]) -> str:
    """Name configurations as `segment at N = 1 and 2; track at N = 4`."""
    counts: dict[str, list[int]] = {}
    for row in rows:
        counts.setdefault(stage_name(row, rows), []).append(row["workers"])
    return "; ".join(f"{name} at N = {listing(found)}" for name, found in counts.items())


def shown(context: ComparisonContext, table: pl.DataFrame) -> RenderableType:
    """Lay the comparison out: what differs, the verdicts, and what they rest on."""
    from rich.console import Group
    from rich.text import Text

    rows = table.to_dicts()
    shared = [row for row in rows if row["verdict"] is not None]
    raised = {flag for row in shared for side in _SIDES for flag in row[f"{side}_flags"]}
    letters = {code: letter for code, letter in LETTERS.items() if code in raised}
    sentences = reasons(context.at_least, paired=context.paired)
    marks = marks_of(shared, sentences)
    lines = [
        Text.assemble(("base", "bold"), f": {context.base}"),
        Text.assemble(("new", "bold"), f": {context.new}"),
    ]
    parts: list[RenderableType] = [*lines]
    if context.differences:
        parts.append(_differences(context.differences))
    parts += map(Text, [*remarks(context), *unit_remarks(context, table)])
    if shared:
        parts.append(_verdicts(shared, letters, marks))
    notes = [(mark, sentences[reason]) for reason, mark in marks.items()]
    notes += [(f"{letter} {code}", SENTENCES[code]) for code, letter in letters.items()]
    parts += [Text.assemble((name, "bold"), f": {sentence}") for name, sentence in notes]
    parts += map(Text, output_remarks(context, table))
    for side, other in (("base", "new"), ("new", "base")):
        alone = [row for row in rows if row[f"{other}_repeats"] is None]
        if alone:
            parts.append(Text(f"In {side} alone: {named(alone)}."))
    if any(row["p_adjusted"] is not None for row in shared):
        parts.append(Text(method(context, table)))
    return Group(*parts)


_SIDES = ("base", "new")


def empty_table() -> Table:
    """Make a table with a line under its head alone."""
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)


def _differences(differences: Sequence[Difference]) -> Table:
    from rich.text import Text

    table = empty_table()
    for header in ("what differs", "base", "new"):
        table.add_column(header, overflow="fold")
    for place, difference in enumerate(differences):
        is_last = place + 1 == len(differences) or differences[place + 1].kind != difference.kind
        cells = (difference.what, difference.base, difference.new)
        table.add_row(*map(Text, cells), end_section=is_last)
    return table


def marks_of(rows: Iterable[Row], sentences: Iterable[str]) -> dict[str, str]:
    """Number the reasons that verdicts have, in the order of their sentences."""
    raised = {row["reason"] for row in rows}
    given = [reason for reason in sentences if reason in raised]
    return {reason: str(place) for place, reason in enumerate(given, start=1)}


def verdict_of(row: Row, marks: Mapping[str, str]) -> Text:
    """Write a verdict with the mark of its reason."""
    from rich.text import Text

    verdict = Text(row["verdict"], style=STYLES.get(row["verdict"], ""))
    if row["reason"] is not None:
        verdict.append(f" ({marks[row['reason']]})")
    return verdict


def _verdicts(rows: Sequence[Row], letters: Mapping[str, str], marks: Mapping[str, str]) -> Table:
    from rich.text import Text

    table = empty_table()
    table.add_column("stage", overflow="fold")
    table.add_column("N", justify="right", no_wrap=True)
    has_outputs = any("output_agreement" in row for row in rows)
    outputs = ("output",) if has_outputs else ()
    for header in ("base s", "new s", "new / base", "verdict", *outputs, "flags: base / new"):
        table.add_column(header, no_wrap=True)
    names = [stage_name(row, rows) for row in rows]
    for place, row in enumerate(rows):
        flags = ["".join(letters[code] for code in row[f"{side}_flags"]) for side in _SIDES]
        verdict = verdict_of(row, marks)
        if any(row[f"{side}_invalid"] for side in _SIDES):
            verdict.append(f", {INVALID}", style="bold red")
        if has_other_result(row):
            verdict.append(f", {OTHER_RESULT}", style="bold red")
        table.add_row(
            Text("" if place and names[place - 1] == names[place] else names[place]),
            str(row["workers"]),
            *(f"{number(row[f'{side}_wall_s'])} ({row[f'{side}_repeats']})" for side in _SIDES),
            Text(with_interval(*(ratio3(row[end]) for end in _RATIO))),
            verdict,
            *((output(row),) if has_outputs else ()),
            f"{flags[0] or ABSENT} / {flags[1] or ABSENT}" if any(flags) else ABSENT,
            end_section=place + 1 == len(rows) or names[place + 1] != names[place],
        )
    return table


def has_other_result(row: Row) -> bool:
    """Whether the new version of a configuration computes something else than the base."""
    found, least = row.get("output_agreement"), row.get("output_tolerance")
    return found is not None and least is not None and bool(found < least)


def output(row: Row) -> str:
    """Print how far the new output agrees with the base's; `=` says that the bytes are equal."""
    return agreement({"agreement": row["output_agreement"], "identical": row["output_identical"]})


_RATIO = ("ratio", "ratio_low", "ratio_high")


def ratio3(value: float | None) -> str:
    """Print three decimals: two would hide half of what `same` allows."""
    return ABSENT if value is None else f"{value:.3f}"


def stage_name(row: Row, rows: Sequence[Row]) -> str:
    """Name the stage of a row of a comparison, with its device where there are several."""
    devices = {other["device"] for other in rows if other["stage"] == row["stage"]}
    return f"{row['stage']} ({row['device']})" if len(devices) > 1 else str(row["stage"])


def _qualities(stage: str, table: pl.DataFrame) -> str:
    """Quality against the truth on both sides, at the lowest worker count that both have."""
    for row in table.filter(table["stage"] == stage).sort("workers").to_dicts():
        measured = [quality(row[f"{side}_quality"] or "{}") for side in _SIDES]
        if ABSENT not in measured:
            return (
                f" Quality against the truth at N = {row['workers']}: base {measured[0]}; "
                f"new {measured[1]}."
            )
    return ""

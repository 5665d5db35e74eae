"""What a terminal shows of a report: what was measured, the verdict, and the advice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.trust import Trust
from pyscale.report import sentences
from pyscale.report.advice import HOW_SURE, MEANING, Advice, asked
from pyscale.report.bottomline import NAMES, NOT_KNOWN, BottomLine, bottom_line
from pyscale.report.comparisonview import Compared
from pyscale.report.comparisonview import shown as comparison_shown
from pyscale.report.curves import curves
from pyscale.report.kinds import sections_of, stage_sections
from pyscale.report.page import tables
from pyscale.report.page.values import cell_text
from pyscale.report.results import Results
from pyscale.report.section import Fitted, empty_table, summary, terminal_table
from pyscale.wording import ABSENT, INVALID, grouped, listing, ratio

OTHERS = (
    "other objectives: --objective most, soonest, min_efficiency=0.7, deadline=30min or budget=2.5 "
    "(worker-hours)"
)
NO_RESULTS = "No trial has a record, so there are no results."
ENDS = {"interval": "[95 % interval]", "range": "(range: shortest to longest of the trials)"}
CELLS = 8
"""Of a bar, which is full where the speedup is the ideal one."""
TRUSTED: dict[Trust, str] = {
    "yes": "Can be trusted",
    "untested": "Untested",
    "with care": "With care",
    "no": "Not to be trusted",
}
STYLES = {"yes": "", "untested": "", "with care": "yellow", "no": "bold red"}


def summary_of(
    results: Results, *, verbose: bool = False, with_quality: bool = False
) -> RenderableType:
    """Lay out everything that was measured, and end with the verdict on stages over N.

    `verbose` shows the tables of the report on stages over N and all notes too; `with_quality` the
    quality alone, as the user gave a truth.
    """
    of_kinds = sections_of(results)
    line = bottom_line(results)
    told: list[RenderableType] = []
    if results.validation is not None:
        headline, reasons = sentences.validated(results.validation)
        style = "bold red" if results.validation.verdict == "wrong" else "bold"
        told = [Text(headline, style), *(Text(f"- {one}") for one in reasons), Text()]
    for one in (*of_kinds, *(stage_sections(results) if verbose else ())):
        told += summary(one)
    works = results.context.works
    if not verbose and (with_quality or any(work.asked for work in works.values())):
        # A suite that asks for quality is run to read it, as is one with a truth.
        right = tables.right(curves(results.about_workers().configurations), works)
        told += [Text(f"\n{right.caption}"), terminal_table(right)] if right else []
    versions = results.versions
    if versions is not None:
        compared = Compared.of(versions)
        told += [Text(), comparison_shown(compared)]
        told += [Text(compared.headline, "bold")] if compared.headline else []
    told += map(Text, sentences.worse(results.measured))
    for one in sentences.warnings(results.trials, results.every(GridFindings)):
        # By its first sentence: the report has the rest.
        style = "bold red" if one.doubts_result else "bold"
        told.append(Text.assemble((one.head, style), one.short.removeprefix(one.head)))
    if line.stages:
        told += [Text()] if told else []
        told.append(BottomView(results.context.title, line))
        told += [Text(f"Note: {note}.") for note in line.notes] if verbose else []
    elif not of_kinds:
        told.append(Text(NO_RESULTS))
    return Group(*told)


@dataclass(frozen=True)
class BottomView:
    """The first screen's rows as wide as the terminal allows, and a line for each answer."""

    title: str
    line: BottomLine

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        stages = self.line.stages
        every = sorted({one["workers"] for stage in stages for one in stage.points})
        advised = {n for one in stages for n in (one.chosen, one.fastest, one.shown_at)}
        few = [count for count in every if count in {*every[:1], *advised}]
        # What may be shown, the most first.
        counts = (every, few, sorted({*every[:1], *every[-1:]}))
        algorithms = (True, False) if any(stage.algorithm for stage in stages) else (False,)
        # Where none has room, the last and narrowest is shown all the same.
        for detail in product(counts, algorithms, (True, False)):
            shown, has_algorithms, has_ends = detail
            rows = tables.overview(self.line, shown)["rows"]
            table = _table(rows, *detail, plain=options.ascii_only)
            # As wide as it likes, to learn how wide that is.
            wide = options.update(max_width=10_000)
            if Measurement.get(console, wide, table).maximum <= options.max_width:
                break
        yield Text.assemble((self.title, "bold"))
        yield table
        kinds = {time["kind"] for row in rows for time in row["times"] if time and has_ends}
        told = ["Wall time in s", *(text for kind, text in ENDS.items() if kind in kinds)]
        left_out = [count for count in every if count not in shown]
        more = f" N = {listing(left_out)}: see the report." if left_out else ""
        yield Text(f"{' '.join(told)}.{more}", "dim")
        ran = [f"{stage.algorithm} ({stage.name})" for stage in stages if stage.algorithm]
        if ran and not has_algorithms:
            yield Text(f"Ran: {'; '.join(ran)}.")
        yield from answers(self.line)


def _table(
    rows: Sequence[dict[str, Any]],
    counts: Sequence[int],
    has_algorithms: bool,
    has_ends: bool,
    *,
    plain: bool,
) -> Table:
    table = empty_table(padding=1)
    if has_algorithms:
        table.add_column("algorithm", overflow="fold")
    for name in (*(f"N = {count}" for count in counts), "speedup", "of ideal"):
        table.add_column(name, no_wrap=True)
    table.add_column("limited by", overflow="fold")
    several = len({row["at"] for row in rows if row["line"] and row["at"]}) > 1
    full, empty = ("#", ".") if plain else ("█", "░")
    for row in rows:
        line, filled = row["line"], round(CELLS * row["share"])
        at = f" {row['at']}" if several and line else ""
        speedup = f"{cell_text(row['speedup'][:1])}{at}" if row["speedup"] else ABSENT
        bar = full * filled + empty * (CELLS - filled) if line and row["speedup"] else ""
        limit = "" if line else row["mix"]
        if line is not None:
            is_limited = line.shown is not None and line.limit != NOT_KNOWN
            limit = line.refusal or (line.limit if is_limited else ABSENT)
        table.add_row(
            Text(row["name"], STYLES[line.trust] if line else "bold"),
            *([Text((line.algorithm or ABSENT) if line else "")] if has_algorithms else []),
            *(_time(time, "" if line is None else ABSENT, has_ends) for time in row["times"]),
            speedup if line or row["speedup"] else "",
            bar if line else row["at"],
            Text(limit),
            style=None if line else "bold",
        )
    return table


def _time(time: dict[str, Any] | None, absent: str, has_ends: bool) -> Text:
    if time is None:
        return Text(absent)
    if time["is_invalid"]:
        return Text(INVALID, "bold red")
    ends = cell_text(time["ends"]) if has_ends else ""
    if ends and time["kind"] == "range":
        ends = f" ({ends.replace(' to ', '-')})"
    return Text(f"{cell_text(time['time'])}{ends}")


@dataclass(frozen=True)
class Unbroken:
    """A line to paste, which is not to be wrapped."""

    head: str
    command: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Segment(f"{self.head}{self.command}\n")


def answers(line: BottomLine) -> Iterator[RenderableType]:
    """Say in a line each: outputs, what to request, its confidence, doubts and the next run."""
    for sentence in dict.fromkeys(stage.stand_in for stage in line.stages if stage.stand_in):
        yield Text(sentence, "yellow")
    if line.outputs is not None:
        yield headed(line.outputs_sentence, "bold red" if line.outputs == "differ" else "bold")
    for sentence in line.request:
        yield Text.assemble((sentence, "bold"))
    gained = [(one.name, one.without_start_up) for one in line.stages if one.without_start_up]
    if gained:
        yield headed(f"Without start-up: {'; '.join(f'{name} {told}' for name, told in gained)}.")
    if line.confidence:
        yield headed(f"Confidence: {line.confidence}.")
    for grade, reasons in line.doubts.items():
        yield headed(f"{TRUSTED[grade]}: {'; '.join(reasons)}.", STYLES[grade])
    if line.next_run is not None and line.next_run.command is not None:
        yield Unbroken("For more certainty, run: ", line.next_run.command)


def learned(line: BottomLine) -> str | None:
    """What more workers did, stage by stage, in a sentence; None where several were not measured.

    A stage whose results are not to be trusted is left out.
    """
    found = [one for one in line.stages if one.chosen and len(one.valid) > 1 and one.trust != "no"]
    told = [
        f"N = {one.chosen} makes {one.name} {ratio(point['speedup'])} times as fast"
        for one in found
        if (point := one.at(one.chosen)) and one.chosen != one.points[0]["workers"]
    ]
    alone = [one.name for one in found if one.chosen == one.points[0]["workers"] == 1]
    if alone:
        gain, them = ("gain", "them") if len(alone) > 1 else ("gains", "it")
        told.append(f"{listing(alone)} {gain} nothing by more workers: leave {them} at one")
    return f"In short: {'; '.join(told)}." if told else None


def headed(sentence: str, style: str = "bold") -> Text:
    """Set what stands before the colon apart."""
    head, colon, rest = sentence.partition(":")
    return Text.assemble((f"{head}{colon}", style or "bold"), rest)


def advice_shown(advice: Advice, *, why: bool = False) -> Iterator[RenderableType | str]:
    """Lay the advice out for a terminal; what is a plain text is to be printed unbroken.

    `why` shows every choice, what limits it and what would settle it too.
    """
    if advice.directives:
        yield f"{advice.directives}\n"
    yield Text(advice.title, "bold")
    yield from _of_ranks(advice)
    if not advice.stages:
        return
    yield _requests(advice.line)
    yield from answers(advice.line)
    yield from map(Text, advice.worse)
    yield from (Text(doubt) for doubt in advice.warnings)
    if why:
        yield ""
        yield from _reasons(advice)
    else:
        yield Text("Reasons and further runs: --why", "dim")


def _of_ranks(advice: Advice) -> Iterator[RenderableType | str]:
    for one in advice.ranks:
        yield Text(f"\n{one.name}", "bold")
        yield from map(Text, one.answers)
        yield from one.lines
        yield headed(f"{TRUSTED[one.trust]}: {'; '.join(one.reasons)}.", STYLES[one.trust])
    if advice.ranks and advice.stages:
        yield ""


def _requests(line: BottomLine) -> Table:
    groups = grouped(
        ((stage.requested, stage.each_task or stage.refusal or ""), stage.name)
        for stage in line.stages
    )
    table = empty_table(padding=1)
    table.columns[0].header = "request for"
    table.add_column("workers", no_wrap=True)
    table.add_column("each task", overflow="fold")
    for (at, each), names in groups.items():
        workers = ABSENT if at is None else f"N = {at}"
        table.add_row(Text(", ".join(names)), workers, Text(each))
    return table


def _reasons(advice: Advice) -> Iterator[RenderableType | str]:
    """Every choice with its numbers, what limits it, and the runs that would settle it."""
    if advice.table is not None:
        in_short = terminal_table(advice.table.in_short({"Worker-seconds"}))
        too_wide = "95 % intervals need a wider terminal; --json has them."
        yield Fitted(terminal_table(advice.table), in_short, too_wide)
    several = [stage for stage in advice.stages if not stage.has_one_n]
    objectives = dict.fromkeys(c.objective for stage in several for c in stage.choices)
    for objective in objectives:
        yield headed(f"{NAMES[objective]}: {MEANING[objective]}")
    if {*objectives} == {"knee", "fastest"}:
        yield headed(OTHERS)
    if several:
        yield headed(f"confidence: {HOW_SURE}")
    if advice.doubts:
        yield Text("\nWhat could change the answer", style="bold")
        yield from (Text(f"- {doubt}") for doubt in advice.doubts)
    for stage in advice.stages:
        yield Text(f"\n{stage.name}", style="bold")
        asked_for = [asked(stage.request, advice.measured_for)] if stage.request else []
        for told in (*sentences.limits(stage.limits), *stage.excluded, *asked_for):
            yield Text(f"- {told}")
        for experiment in stage.experiments:
            yield Text(f"- {experiment.reason}")
            if experiment.command is not None:
                yield f"  $ {experiment.command}"

"""The bottom line for a terminal, or a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from pyscale.analysis.trust import Trust
from pyscale.report.bottomline import NOT_KNOWN, BottomLine
from pyscale.report.fitted import empty_table
from pyscale.report.page.firstscreen import overview
from pyscale.report.page.values import cell_text
from pyscale.report.results import Results
from pyscale.wording import ABSENT, INVALID, listing, ratio

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


@dataclass(frozen=True)
class BottomView:
    """The first screen's rows as wide as the terminal allows, and a line for each answer."""

    title: str
    line: BottomLine
    results: Results

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        stages = self.line.stages
        every = sorted({one.workers for stage in stages for one in stage.points})
        advised = {n for one in stages for n in (one.chosen, one.fastest, one.shown_at)}
        few = [count for count in every if count in {*every[:1], *advised}]
        # What may be shown, the most first.
        counts = (every, few, sorted({*every[:1], *every[-1:]}))
        algorithms = (True, False) if any(stage.algorithm for stage in stages) else (False,)
        # Where none has room, the last and narrowest is shown all the same.
        for detail in product(counts, algorithms, (True, False)):
            shown, has_algorithms, has_ends = detail
            rows = overview(self.line, self.results.about_workers(), shown)["rows"]
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
        f"N = {one.chosen} makes {one.name} {ratio(point.speedup)} times as fast"
        for one in found
        if (point := one.at(one.chosen)) and one.chosen != one.points[0].workers
    ]
    alone = [one.name for one in found if one.chosen == one.points[0].workers == 1]
    if alone:
        gain, them = ("gain", "them") if len(alone) > 1 else ("gains", "it")
        told.append(f"{listing(alone)} {gain} nothing by more workers: leave {them} at one")
    return f"In short: {'; '.join(told)}." if told else None


def headed(sentence: str, style: str = "bold") -> Text:
    """Set what stands before the colon apart."""
    head, colon, rest = sentence.partition(":")
    return Text.assemble((f"{head}{colon}", style or "bold"), rest)

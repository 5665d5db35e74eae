"""The bottom line for a terminal, or a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from pyscale.report.bottomline import NOT_KNOWN, BottomLine, Point, StageLine
from pyscale.report.fitted import empty_table
from pyscale.report.wording import ABSENT, INVALID, listing, number, ratio

CELLS = 8
"""Of a bar, which is full where the speedup is the ideal one."""
STYLES = {"yes": "", "with care": "yellow", "no": "bold red"}


@dataclass(frozen=True)
class Detail:
    """How much of a table there is room for."""

    counts: tuple[int, ...]
    algorithms: bool = True
    ends: bool = True


@dataclass(frozen=True)
class BottomView:
    """A table with a row a stage, as wide as the terminal allows, and a line for each answer."""

    title: str
    line: BottomLine

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        every = tuple(sorted({one.workers for s in self.line.stages for one in s.points}))
        for detail in self._details(every):
            table = self._table(detail, plain=options.ascii_only)
            wide = options.update(max_width=10_000)
            if Measurement.get(console, wide, table).maximum <= options.max_width:
                break
        yield Text.assemble((self.title, "bold"))
        yield table
        yield from self._legend(detail, every)
        yield from answers(self.line)

    def _details(self, every: tuple[int, ...]) -> Iterator[Detail]:
        """What may be shown, the most first."""
        known = any(stage.algorithm for stage in self.line.stages)
        chosen = {
            count
            for stage in self.line.stages
            for count in (stage.best_value, stage.fastest, stage.shown_at)
        }
        few = tuple(count for count in every if count in {*every[:1], *chosen})
        for counts in dict.fromkeys((every, few, tuple(sorted({*every[:1], *every[-1:]})))):
            for algorithms, ends in ((True, True), (True, False), (False, True), (False, False)):
                if known or not algorithms:
                    yield Detail(counts, algorithms=algorithms, ends=ends)

    def _table(self, detail: Detail, *, plain: bool) -> Table:
        table = empty_table(padding=1)
        if detail.algorithms:
            table.add_column("algorithm", overflow="fold")
        for count in detail.counts:
            table.add_column(f"N = {count}", no_wrap=True)
        table.add_column("speedup", no_wrap=True)
        table.add_column("of ideal", no_wrap=True)
        table.add_column("limited by", overflow="fold")
        lines = self.line.stages
        at = {stage.shown_at for stage in lines if stage.shown_at}
        for stage in lines:
            table.add_row(
                Text(stage.name, STYLES[stage.trust]),
                *([Text(stage.algorithm or ABSENT)] if detail.algorithms else []),
                *_times(stage.points, detail),
                *_speedup(stage.shown, plain=plain, several=len(at) > 1),
                Text(_limit(stage)),
            )
        if self.line.total is not None:
            shown = self.line.total.shown
            table.add_row(
                self.line.total.name,
                *([""] if detail.algorithms else []),
                *_times(self.line.total.points, detail),
                *_speedup(shown, plain=plain, several={shown and shown.workers} != at),
                "",
                style="bold",
            )
        return table

    def _legend(self, detail: Detail, every: tuple[int, ...]) -> Iterator[Text]:
        ends = (
            {one.ends for stage in self.line.stages for one in stage.points} if detail.ends else {}
        )
        told = ["Wall time in s"]
        told += ["[95 % interval]"] if "interval" in ends else []
        told += ["(range: min-max of the trials)"] if "range" in ends else []
        left_out = [count for count in every if count not in detail.counts]
        more = f" N = {listing(left_out)}: see the report." if left_out else ""
        yield Text(f"{' '.join(told)}.{more}", "dim")
        algorithms = [(s.name, s.algorithm) for s in self.line.stages if s.algorithm]
        if algorithms and not detail.algorithms:
            ran = "; ".join(f"{algorithm} ({name})" for name, algorithm in algorithms)
            yield Text(f"Ran: {ran}.")


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
    if line.confidence:
        yield headed(f"Confidence: {line.confidence}.")
    if line.against:
        yield headed(f"Not to be trusted: {'; '.join(line.against)}.", STYLES["no"])
    if line.care:
        yield headed(f"With care: {'; '.join(line.care)}.", STYLES["with care"])
    if line.next_run is not None and line.next_run.command is not None:
        yield Unbroken("Surer by: ", line.next_run.command)


def headed(sentence: str, style: str = "bold") -> Text:
    """Set what stands before the colon apart."""
    head, colon, rest = sentence.partition(":")
    return Text.assemble((f"{head}{colon}", style or "bold"), rest)


def _times(points: Sequence[Point], detail: Detail) -> Iterator[Text]:
    found = {one.workers: one for one in points}
    for count in detail.counts:
        one = found.get(count)
        if one is None:
            yield Text(ABSENT)
        elif one.invalid:
            yield Text(INVALID, "bold red")
        else:
            yield Text(_time(one, ends=detail.ends))


def _time(one: Point, *, ends: bool) -> str:
    text = number(one.wall_s)
    if not ends or one.ends is None:
        return text
    low, high = number(one.low_s), number(one.high_s)
    return f"{text} [{low}, {high}]" if one.ends == "interval" else f"{text} ({low}-{high})"


def _speedup(one: Point | None, *, plain: bool, several: bool) -> tuple[str, str]:
    """Speedup, with its N where rows differ in it, and a bar of the efficiency."""
    if one is None or one.speedup is None:
        return ABSENT, ""
    at = f" at {one.workers}" if several else ""
    filled = min(CELLS, round(CELLS * (one.efficiency or 0.0)))
    full, empty = ("#", ".") if plain else ("█", "░")
    return f"{ratio(one.speedup)}{at}", full * filled + empty * (CELLS - filled)


def _limit(stage: StageLine) -> str:
    if stage.refusal is not None:
        return stage.refusal
    return stage.limit if stage.shown is not None and stage.limit != NOT_KNOWN else ABSENT

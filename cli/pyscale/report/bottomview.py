"""The bottom line for a terminal, or a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from pyscale.analysis.advice import Objective
from pyscale.report.bottomline import NOT_KNOWN, BottomLine, Point, Total
from pyscale.report.fitted import empty_table
from pyscale.wording import ABSENT, INVALID, listing, number, ratio

CELLS = 8
"""Of a bar, which is full where the speedup is the ideal one."""
STYLES = {"yes": "", "untested": "", "with care": "yellow", "no": "bold red"}
OBJECTIVES: dict[Objective, str] = {
    "knee": "of the best value",
    "fastest": "of the fastest",
    "budget": "of the fastest within budget",
}
"""What a confidence is of."""


@dataclass(frozen=True)
class BottomView:
    """A table with a row a stage, as wide as the terminal allows, and a line for each answer."""

    title: str
    line: BottomLine

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
            table = self._table(*detail, plain=options.ascii_only)
            # As wide as it likes, to learn how wide that is.
            wide = options.update(max_width=10_000)
            if Measurement.get(console, wide, table).maximum <= options.max_width:
                break
        shown, has_algorithms, has_ends = detail
        yield Text.assemble((self.title, "bold"))
        yield table
        ends = {one.ends for stage in stages for one in stage.points} if has_ends else {}
        told = ["Wall time in s"]
        told += ["[95 % interval]"] if "interval" in ends else []
        told += ["(range: min-max of the trials)"] if "range" in ends else []
        left_out = [count for count in every if count not in shown]
        more = f" N = {listing(left_out)}: see the report." if left_out else ""
        yield Text(f"{' '.join(told)}.{more}", "dim")
        ran = [f"{stage.algorithm} ({stage.name})" for stage in stages if stage.algorithm]
        if ran and not has_algorithms:
            yield Text(f"Ran: {'; '.join(ran)}.")
        yield from answers(self.line)

    def _table(
        self, counts: Sequence[int], has_algorithms: bool, has_ends: bool, *, plain: bool
    ) -> Table:
        table = empty_table(padding=1)
        if has_algorithms:
            table.add_column("algorithm", overflow="fold")
        for name in (*(f"N = {count}" for count in counts), "speedup", "of ideal"):
            table.add_column(name, no_wrap=True)
        table.add_column("limited by", overflow="fold")
        lines = self.line.stages
        at = {stage.shown_at for stage in lines if stage.shown_at}
        for stage in lines:
            is_limited = stage.shown is not None and stage.limit != NOT_KNOWN
            table.add_row(
                Text(stage.name, STYLES[stage.trust]),
                *([Text(stage.algorithm or ABSENT)] if has_algorithms else []),
                *_times(stage.points, counts, ends=has_ends),
                *_speedup(stage.shown, plain=plain, several=len(at) > 1),
                Text(stage.refusal or (stage.limit if is_limited else ABSENT)),
            )
        for name, *cells in _whole(self.line.total, counts):
            table.add_row(name, *([""] if has_algorithms else []), *cells, style="bold")
        return table


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
        yield headed(f"Confidence {OBJECTIVES[line.objective]}: {line.confidence}.")
    if line.against:
        yield headed(f"Not to be trusted: {'; '.join(line.against)}.", STYLES["no"])
    if line.care:
        yield headed(f"With care: {'; '.join(line.care)}.", STYLES["with care"])
    if line.untested:
        yield headed(f"Untested: {'; '.join(line.untested)}.", STYLES["untested"])
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


def _whole(total: Total | None, counts: Sequence[int]) -> Iterator[list[str]]:
    """Cells of all stages at the baseline, and with each stage at an N of its own."""
    if total is None:
        return
    base = [number(total.wall_s) if n == total.baseline_workers else "" for n in counts]
    gains = [[ratio(mix.speedup), f"{number(mix.wall_s)} s", mix.name] for mix in total.mixes]
    first, *others = gains or [["", "", ""]]
    yield [total.name, *base, *first]
    yield from (["", *[""] * len(base), *one] for one in others)


def _times(points: Sequence[Point], counts: Sequence[int], *, ends: bool) -> Iterator[Text]:
    found = {one.workers: one for one in points}
    for count in counts:
        one = found.get(count)
        if one is None:
            yield Text(ABSENT)
        elif one.invalid:
            yield Text(INVALID, "bold red")
        else:
            low, high = number(one.low_s), number(one.high_s)
            beside = {"interval": f" [{low}, {high}]", "range": f" ({low}-{high})"}
            yield Text(f"{number(one.wall_s)}{beside.get(one.ends or '', '') if ends else ''}")


def _speedup(one: Point | None, *, plain: bool, several: bool) -> tuple[str, str]:
    """Speedup, with its N where rows differ in it, and a bar of the efficiency."""
    if one is None or one.speedup is None:
        return ABSENT, ""
    at = f" at {one.workers}" if several else ""
    filled = min(CELLS, round(CELLS * (one.efficiency or 0.0)))
    full, empty = ("#", ".") if plain else ("█", "░")
    return f"{ratio(one.speedup)}{at}", full * filled + empty * (CELLS - filled)

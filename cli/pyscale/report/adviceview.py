"""The answer of `pyscale advise`, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pyscale.report.advice import HOW_SURE, MEANING, Advice, asked
from pyscale.report.bottomline import NAMES, BottomLine
from pyscale.report.bottomview import STYLES, TRUSTED, answers, headed
from pyscale.report.fitted import Fitted, empty_table, terminal_table
from pyscale.report.sentences import limits
from pyscale.wording import ABSENT, grouped

OTHERS = (
    "other objectives: --objective most, soonest, min_efficiency=0.7, deadline=30min or budget=2.5 "
    "(worker-hours)"
)


def shown(advice: Advice, *, why: bool = False) -> Iterator[RenderableType | str]:
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
        for told in (*limits(stage.limits), *stage.excluded, *asked_for):
            yield Text(f"- {told}")
        for experiment in stage.experiments:
            yield Text(f"- {experiment.reason}")
            if experiment.command is not None:
                yield f"  $ {experiment.command}"

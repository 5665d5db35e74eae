"""The answer of `pyscale advise`, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pyscale.analysis.advice import Choice
from pyscale.analysis.trust import Trust
from pyscale.report import limits as limit_sentences
from pyscale.report.advice import (
    HOW_SURE,
    MEANING,
    NAMES,
    Advice,
    StageAdvice,
    asked,
    at_the_end,
    cells,
    sureness,
)
from pyscale.report.bottomline import BottomLine
from pyscale.report.bottomview import STYLES, answers, headed
from pyscale.report.fitted import Fitted, empty_table
from pyscale.wording import ABSENT, grouped, listing

TRUSTED: dict[Trust, str] = {
    "yes": "Can be trusted",
    "untested": "Untested",
    "with care": "With care",
    "no": "Not to be trusted",
}
ASK_FOR_BUDGET = "the fastest within a budget: ask by --budget WORKER_HOURS"


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
    yield Fitted(
        _table(advice.stages, intervals=True),
        _table(advice.stages, intervals=False),
        "95 % intervals need a wider terminal; --json has them.",
    )
    several = [stage for stage in advice.stages if not stage.has_one_n]
    objectives = dict.fromkeys(c.objective for stage in several for c in stage.choices)
    for objective in objectives:
        yield Text.assemble((NAMES[objective], "bold"), f": {MEANING[objective]}")
    if {*objectives} == {"knee", "fastest"}:
        yield Text.assemble(("budget", "bold"), f": {ASK_FOR_BUDGET}")
    if several:
        yield Text.assemble(("confidence", "bold"), f": {HOW_SURE}")
    if advice.doubts:
        yield Text("\nWhat could change the answer", style="bold")
        yield from (Text(f"- {doubt}") for doubt in advice.doubts)
    remarks = {stage.name: list(_remarks(stage, advice.measured_for)) for stage in advice.stages}
    first, *others = remarks.values()
    of_all = [one for one in first if others and all(one in other for other in others)]
    for name, found in [*remarks.items(), ("all stages", of_all)]:
        own = found if found is of_all else [one for one in found if one not in of_all]
        if own:
            yield Text(f"\n{name}", style="bold")
        for sentence, command in own:
            yield Text(f"- {sentence}")
            if command is not None:
                yield f"  $ {command}"


def _remarks(stage: StageAdvice, measured_for: str) -> Iterator[tuple[str, str | None]]:
    """What the table of choices does not say, each with the line that would settle it."""
    said = grouped(
        (beyond, NAMES[choice.objective])
        for choice in stage.choices
        if (beyond := " ".join(_beyond_the_table(choice)))
    )
    who = "" if stage.has_one_n else "{}: "
    told = [f"{who.format(listing(names))}{sentence}" for sentence, names in said.items()]
    told += limit_sentences.of_several(stage.limits)
    told += stage.excluded
    if stage.request is not None:
        told.append(asked(stage.request, measured_for))
    yield from ((sentence, None) for sentence in told)
    yield from ((experiment.reason, experiment.command) for experiment in stage.experiments)


def _beyond_the_table(choice: Choice) -> Iterator[str]:
    if choice.workers is None:
        yield f"No N is advised: {choice.refusal}."
        return
    end = at_the_end(choice)
    if end is not None and not choice.at_edge:
        yield end
    if choice.sureness in {"likely", "undecided"} or len(choice.candidates) == 1:
        yield sureness(choice)


def _table(stages: Sequence[StageAdvice], *, intervals: bool) -> Table:
    table = empty_table()
    table.add_column("objective", no_wrap=True)
    table.add_column("N", justify="right", no_wrap=True)
    for header in ("wall s", "speedup", "effi-\nciency", "worker-\nhours", "confidence"):
        table.add_column(header, no_wrap=True)
    for stage in stages:
        # Of one N nothing was chosen, for whatever objective.
        choices = stage.choices[:1] if stage.has_one_n else stage.choices
        for choice in choices:
            table.add_row(
                Text(stage.name if choice is choices[0] else ""),
                "only N" if stage.has_one_n else NAMES[choice.objective],
                *cells(choice, intervals=intervals),
                end_section=choice is choices[-1] and stage is not stages[-1],
            )
    return table

"""The answer of `pyscale advise`, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyscale.analysis.advice import Choice, Objective
from pyscale.report import limits as limit_sentences
from pyscale.report.advice import (
    Advice,
    StageAdvice,
    asked,
    at_the_end,
    speedup_of,
    sureness,
)
from pyscale.report.wording import ABSENT, listing, number, percent, ratio, wall_time

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

MEANING: dict[Objective, str] = {
    "knee": (
        "the largest speedup x efficiency: beyond it efficiency falls faster than speedup grows "
        "(Eager, Zahorjan and Lazowska 1989)"
    ),
    "fastest": "the least wall time for the same work",
    "budget": "the fastest whose worker-hours, N x wall time, are within those given",
}
ASK_FOR_BUDGET = "the fastest within a budget: ask by --budget WORKER_HOURS"


def shown(advice: Advice) -> Iterator[RenderableType | str]:
    """Lay the advice out for a terminal; what is a plain text is to be printed unbroken."""
    from rich.text import Text

    yield Text.assemble(("What to request", "bold"), f": {advice.title}")
    yield _table(advice.stages)
    objectives = dict.fromkeys(c.objective for stage in advice.stages for c in stage.choices)
    for objective in objectives:
        yield Text.assemble((objective, "bold"), f": {MEANING[objective]}")
    if {*objectives} == {"knee", "fastest"}:
        yield Text.assemble(("budget", "bold"), f": {ASK_FOR_BUDGET}")
    for stage in advice.stages:
        yield Text.assemble("\n", (stage.name, "bold"))
        for sentence in _remarks(stage, advice.measured_for):
            yield Text(f"- {sentence}")
        for experiment in stage.experiments:
            yield Text(f"- {experiment.reason}")
            if experiment.command is not None:
                yield f"  $ {experiment.command}"
    if advice.directives:
        yield Text.assemble("\n", ("To paste", "bold"), f", for {advice.objective}:\n")
        yield advice.directives


def _remarks(stage: StageAdvice, measured_for: str) -> Iterator[str]:
    """What neither the table of choices nor an experiment says."""
    said: dict[str, list[str]] = {}
    for choice in stage.choices:
        for sentence in _beyond_the_table(choice):
            said.setdefault(sentence, []).append(choice.objective)
    yield from (f"{listing(names)}: {sentence}" for sentence, names in said.items())
    for limit in stage.limits:
        yield from limit_sentences.sentences(limit)
    yield from stage.excluded
    yield from stage.doubts
    if stage.request is not None:
        yield asked(stage.request, measured_for)


def _beyond_the_table(choice: Choice) -> Iterator[str]:
    if choice.workers is None:
        yield f"No N is advised: {choice.refusal}."
        return
    end = at_the_end(choice)
    if end is not None and not choice.at_edge:
        yield end
    if choice.sureness in {"likely", "undecided"} or len(choice.candidates) == 1:
        yield sureness(choice)


def _table(stages: Sequence[StageAdvice]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("stage", overflow="fold")
    table.add_column("objective", no_wrap=True)
    table.add_column("N", justify="right", no_wrap=True)
    for header in ("wall s", "speedup", "effi-\nciency", "worker-\nhours", "how sure"):
        table.add_column(header, no_wrap=True)
    for stage in stages:
        for choice in stage.choices:
            table.add_row(
                Text(stage.name if choice is stage.choices[0] else ""),
                choice.objective,
                *_cells(choice, choice.model_dump()),
                end_section=choice is stage.choices[-1] and stage is not stages[-1],
            )
    return table


def _cells(choice: Choice, row: Mapping[str, Any]) -> list[str]:
    if choice.workers is None:
        return [ABSENT] * 6
    share = "" if choice.share_chosen is None else f" ({percent(choice.share_chosen)})"
    return [
        str(choice.workers),
        wall_time(row),
        speedup_of(choice),
        ratio(choice.efficiency),
        number(choice.worker_hours),
        f"{choice.sureness}{share}",
    ]

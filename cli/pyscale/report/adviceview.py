"""The answer of `pyscale advise`, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyscale.analysis.advice import Choice
from pyscale.report import limits as limit_sentences
from pyscale.report.advice import (
    HOW_SURE,
    MEANING,
    Advice,
    StageAdvice,
    asked,
    at_the_end,
    cells,
    sureness,
)
from pyscale.report.fitted import Fitted, empty_table
from pyscale.report.wording import listing

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

ASK_FOR_BUDGET = "the fastest within a budget: ask by --budget WORKER_HOURS"


def shown(advice: Advice) -> Iterator[RenderableType | str]:
    """Lay the advice out for a terminal; what is a plain text is to be printed unbroken."""
    from rich.text import Text

    yield Text.assemble(("What to request", "bold"), f": {advice.title}")
    yield Fitted(
        _table(advice.stages, intervals=True),
        _table(advice.stages, intervals=False),
        "95 % intervals need a wider terminal; --json has them.",
    )
    objectives = dict.fromkeys(c.objective for stage in advice.stages for c in stage.choices)
    for objective in objectives:
        yield Text.assemble((objective, "bold"), f": {MEANING[objective]}")
    if {*objectives} == {"knee", "fastest"}:
        yield Text.assemble(("budget", "bold"), f": {ASK_FOR_BUDGET}")
    yield Text.assemble(("how sure", "bold"), f": {HOW_SURE}")
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
    if advice.directives:
        yield Text.assemble("\n", ("To paste", "bold"), f", for {advice.objective}:\n")
        yield advice.directives


def _remarks(stage: StageAdvice, measured_for: str) -> Iterator[tuple[str, str | None]]:
    """What the table of choices does not say, each with the line that would settle it."""
    said: dict[str, list[str]] = {}
    for choice in stage.choices:
        beyond = " ".join(_beyond_the_table(choice))
        if beyond:
            said.setdefault(beyond, []).append(choice.objective)
    told = [f"{listing(names)}: {sentence}" for sentence, names in said.items()]
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
    from rich.text import Text

    table = empty_table()
    table.add_column("objective", no_wrap=True)
    table.add_column("N", justify="right", no_wrap=True)
    for header in ("wall s", "speedup", "effi-\nciency", "worker-\nhours", "how sure"):
        table.add_column(header, no_wrap=True)
    for stage in stages:
        for choice in stage.choices:
            table.add_row(
                Text(stage.name if choice is stage.choices[0] else ""),
                choice.objective,
                *cells(choice, intervals=intervals),
                end_section=choice is stage.choices[-1] and stage is not stages[-1],
            )
    return table

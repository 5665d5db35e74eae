"""Next measurements, where the trials do not settle the best N."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from pydantic import Field

from pyscale.analysis.advice import Choice
from pyscale.analysis.causes import Limits
from pyscale.analysis.intervals import repeats_needed
from pyscale_stages.contract import Record

MORE_REPEATS = 2
"""By how much the trials of two rivals are multiplied."""
INFLATING = ("work-inflation", "busy")
"""Causes behind which may be the cutting of the movie, or the running of workers at once."""

Code = Literal["few-repeats", "undecided", "larger", "smaller", "windows"]
ORDER: tuple[Code, ...] = get_args(Code)
"""The most needed first."""


class Experiment(Record):
    """A run that would settle one question."""

    code: Code
    reason: str = Field(description="The question, in a sentence")
    workers: tuple[int, ...] = Field(description="Every N to measure, rising")
    repeats: int = Field(description="Trials of each")
    windows: int | None = Field(None, description="Windows of one worker, where they are not N")
    command: str | None = Field(
        None, description="Line to paste; None where no line of pyscale measures it"
    )


def experiments(
    choice: Choice, fewest_repeats: int, found: Sequence[Limits], *, frames: int | None = None
) -> Iterator[Experiment]:
    """Name the runs that would settle a choice, the most needed first; `frames` bound N."""
    best, base, rival = choice.workers, choice.baseline_workers, choice.rival
    if best is None or base is None:
        return
    needed = repeats_needed()
    enough = max(fewest_repeats, needed)
    if fewest_repeats < needed and len(choice.candidates) > 1:
        yield Experiment(
            code="few-repeats",
            reason=f"Fewer than {needed} trials of some N were timed, so the confidence of this "
            f"choice is unknown: time {needed} of each.",
            workers=_rising(base, *choice.candidates),
            repeats=needed,
        )
    elif choice.sureness in {"likely", "undecided"} and rival is not None and not choice.is_close:
        more = MORE_REPEATS * fewest_repeats
        one, other = sorted((best, rival))
        yield Experiment(
            code="undecided",
            reason=f"{fewest_repeats} trials do not settle whether N = {one} or N = {other} is "
            f"the better choice: time {more} of each.",
            workers=_rising(base, best, rival),
            repeats=more,
        )
    larger = 2 * best if frames is None else min(2 * best, frames)
    # Worker-hours hardly ever fall with N, so that a budget that is used up affords no more.
    affords_more = choice.objective != "budget" or choice.worker_hours != choice.limit
    if choice.at_edge and larger > best and affords_more:
        yield Experiment(
            code="larger",
            reason=f"N = {best} is the largest measured: a larger one may be better.",
            workers=_rising(base, best, larger),
            repeats=enough,
        )
    if best == base > 1:
        yield Experiment(
            code="smaller",
            reason=f"N = {best} is the smallest measured: a smaller one may be better.",
            workers=_rising(best // 2, best),
            repeats=enough,
        )
    if choice.scaling not in {None, "strong"}:
        # At each N other frames were processed: one worker cannot have the windows of them all.
        return
    for limit in found:
        if limit.main is not None and limit.main.code in INFLATING:
            took = "took" if limit.main.code == "busy" else "computed"
            yield Experiment(
                code="windows",
                reason=f"The tasks {took} longer in sum at N = {limit.workers}: one worker with "
                "as many windows shows whether splitting the movie or running at once costs it.",
                workers=(1,),
                repeats=enough,
                windows=limit.workers,
            )
            return


def _rising(*counts: int) -> tuple[int, ...]:
    return tuple(sorted({*counts}))

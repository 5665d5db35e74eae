"""What to request, and why, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from pyscale.analysis.advice import DOUBTFUL, Choice, Objective
from pyscale.analysis.causes import Limits
from pyscale.analysis.experiments import Experiment, near
from pyscale.analysis.flags import SENTENCES
from pyscale.analysis.intervals import repeats_needed
from pyscale.analysis.requests import MEMORY_MARGIN, TIME_MARGIN, TIME_STEP_S, Request
from pyscale.report import limits as limit_sentences
from pyscale.report.curves import Curve
from pyscale.report.gate import disagreement
from pyscale.report.wording import (
    gib,
    listing,
    number,
    percent,
    ratio,
    wall_time,
    with_interval,
)
from pyscale_stages.contract import Record

NO_LARGER: dict[Objective, str] = {
    "knee": "No larger N has a larger speedup x efficiency.",
    "fastest": "No larger N is faster.",
    "budget": "No larger N is both faster and within the budget.",
}


class StageAdvice(Record):
    """All that is advised of one curve."""

    name: str = Field(description="Stage, and what else tells its curve from others")
    choices: tuple[Choice, ...] = Field(description="One for each objective")
    limits: tuple[Limits, ...] = Field(
        description="At every N that was chosen, and at the next larger one measured"
    )
    excluded: tuple[str, ...] = Field(description="Configurations that are never chosen, and why")
    doubts: tuple[str, ...] = Field(description="Flags by which another N could be the best")
    experiments: tuple[Experiment, ...] = Field(description="Runs that would settle it")
    request: Request | None = Field(description="What to ask for, for the objective of `Advice`")


class Advice(Record):
    """The answer of `pyscale advise`."""

    title: str = Field(description="What was measured")
    objective: Objective = Field(description="The one that requests and directives are for")
    measured_for: str = Field(description="What was processed, and on what")
    stages: tuple[StageAdvice, ...]
    directives: str = Field(description="What asks for the requests, to paste")


def section(
    curve: Curve,
    choices: Sequence[Choice],
    limits: Sequence[Limits],
    requests: Sequence[Request],
    measured_for: str,
) -> list[str]:
    """Give the sentences of "What to request" on one curve, for the report.

    Parameters
    ----------
    curve : Curve
    choices, limits, requests
        Of all curves.
    measured_for : str
        What was processed, and on what.
    """
    own = [choice for choice in choices if curve.owns(choice)]
    objectives: dict[str, list[str]] = {}
    for choice in own:
        objectives.setdefault(chosen(choice), []).append(choice.objective)
    told = [f"{listing(names)}: {sentence}" for sentence, names in objectives.items()]
    for one in limits_near(curve, own, limits):
        told += limit_sentences.sentences(one)
    told += excluded(curve)
    told += [asked(one, measured_for) for one in requests if curve.owns(one)]
    return told


def chosen(choice: Choice) -> str:
    """State a choice, the numbers that led to it, and how sure it is."""
    if choice.workers is None:
        return f"no N is advised: {choice.refusal}."
    row = choice.model_dump()
    trials = "one trial" if choice.repeats == 1 else f"median of {choice.repeats} trials"
    end = at_the_end(choice)
    return " ".join(
        [
            f"request N = {choice.workers}, which took {wall_time(row)} s ({trials}), "
            f"speedup {speedup_of(choice)}, efficiency {ratio(choice.efficiency)}, "
            f"{number(choice.worker_hours)} worker-hours.",
            *([end] if end else []),
            sureness(choice),
        ]
    )


def at_the_end(choice: Choice) -> str | None:
    """Say that no larger N pays, or that no larger one was measured, where that is so."""
    if choice.workers is None or len(choice.candidates) < 2:
        return None
    if choice.at_edge:
        return f"N = {choice.workers} is the largest that was measured; a larger one may be better."
    if choice.workers > choice.candidates[0]:
        return None
    told = NO_LARGER[choice.objective]
    return told if choice.sureness == "sure" else f"In these trials {told[0].lower()}{told[1:]}"


def sureness(choice: Choice) -> str:
    """Say how sure a choice is, by how often resampled trials lead to it."""
    if len(choice.candidates) == 1:
        return "It is the only N with a timed trial and a valid output: there was no other."
    if choice.share_chosen is None:
        return f"How sure this is, is unknown: an N has fewer than {repeats_needed()} timed trials."
    share = f"chosen in {percent(choice.share_chosen)} of resamples of the trials"
    if choice.sureness == "sure" or choice.rival is None:
        return f"Sure: {share}."
    return f"{choice.sureness.capitalize()}: {share}; N = {choice.rival} comes next."


def excluded(curve: Curve) -> list[str]:
    """Name the configurations that are never chosen, because they compute something else."""
    return [
        f"N = {row['workers']} is never chosen: {disagreement(row)}."
        for row in curve.timed
        if row["invalid"]
    ]


def doubts(curve: Curve) -> list[str]:
    """Give the sentence of every flag by which another N could be the best in truth."""
    found = []
    for code in DOUBTFUL:
        counts = [
            row["workers"] for row in curve.rows if code in row["flags"] and not row["invalid"]
        ]
        if counts:
            found.append(f"`{code}` at N = {listing(counts)}: {SENTENCES[code]}")
    return found


def limits_near(curve: Curve, choices: Sequence[Choice], found: Sequence[Limits]) -> list[Limits]:
    """What limits a curve near any of its choices, once each; of invalid ones nothing is said."""
    invalid = {row["workers"] for row in curve.rows if row["invalid"]}
    close = [one for choice in choices if curve.owns(choice) for one in near(choice, found)]
    return [one for one in found if one in close and one.workers not in invalid]


def asked(request: Request, measured_for: str) -> str:
    """State what to ask for, with its margins, and for what it was measured."""
    parts = []
    if request.cpus:
        parts.append(f"{request.cpus} core{'s' * (request.cpus > 1)}")
    if request.gpus:
        parts.append(f"{request.gpus} GPU{'s' * (request.gpus > 1)}")
    if request.memory_bytes is None:
        parts.append("memory that nobody measured")
    else:
        parts.append(
            f"{gib(request.memory_bytes)} GiB of memory ({MEMORY_MARGIN:g} x the peak of "
            f"{gib(request.peak_rss_bytes)} GiB, in whole GiB)"
        )
    step_min = TIME_STEP_S // 60
    parts.append(
        f"{request.time_s // 60} min ({TIME_MARGIN:g} x the {number(request.longest_task_s)} s of "
        f"the longest task, in whole {step_min} min)"
    )
    work = request.work_per_window
    of_work = "" if work is None else f"{work:g} frames a task of "
    return (
        f"Each task at N = {request.workers}: {listing(parts)}. Measured for {of_work}"
        f"{measured_for}; tasks with more to do need more."
    )


def speedup_of(choice: Choice) -> str:
    """Speedup with its interval."""
    ends = (choice.speedup, choice.speedup_low, choice.speedup_high)
    return with_interval(*map(ratio, ends))

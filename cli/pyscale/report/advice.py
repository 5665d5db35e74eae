"""What to request, and why, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field

from pyscale.analysis.advice import NEAR, Choice, Experiment, Objective
from pyscale.analysis.causes import Limits
from pyscale.analysis.flags import DOUBTFUL
from pyscale.analysis.intervals import LIKELY, SURE, repeats_needed
from pyscale.analysis.judging import MARGIN
from pyscale.analysis.resource_request import MEMORY_MARGIN, TIME_MARGIN, TIME_STEP_S, Request
from pyscale.analysis.trust import Trust
from pyscale.report import sentences
from pyscale.report.bottomline import BottomLine
from pyscale.report.curves import Curve
from pyscale.report.page.values import Table
from pyscale.report.results import Results
from pyscale.report.sentences import why_invalid
from pyscale.wording import ABSENT, amount, coarse, gib, listing, number, percent, resampled_share
from pyscale_stages.contract import Record
from pyscale_stages.wording import plural

MEANING: dict[Objective, str] = {
    "knee": (
        "the largest speedup x efficiency; beyond it efficiency falls faster than speedup grows "
        "(Eager, Zahorjan and Lazowska 1989)"
    ),
    "fastest": (
        f"the fewest workers as fast as the fastest within {percent(MARGIN)}, for the same work"
    ),
    "most": f"the fewest workers as fast as the fastest within {percent(NEAR)}",
    "soonest": (
        f"the fewest workers whose result is there first, within {percent(MARGIN)}, with the wait "
        "in the queue that was measured"
    ),
    "min_efficiency": (
        f"the fewest workers as fast, within {percent(MARGIN)}, as the fastest of at least that "
        "efficiency"
    ),
    "deadline": "the fewest workers whose wall time is within it, each stage by itself",
    "budget": (
        f"the fewest workers as fast, within {percent(MARGIN)}, as the fastest whose worker-hours, "
        "N x wall time, are within those given"
    ),
}
HOW_SURE = (
    f"the share of resamples of the trials in which this N is the best or, where the objective has "
    f"a margin, within it: sure from {percent(SURE)} on, likely from "
    f"{percent(LIKELY)}, else undecided; unknown where an N has fewer than {repeats_needed()} "
    "timed trials, or there is no other"
)
MARGINS = (
    f"Each task asks for {MEMORY_MARGIN:g} x its peak memory, in whole GiB, and {TIME_MARGIN:g} x "
    f"the longest task's time, in whole {TIME_STEP_S // 60} min; larger data need more"
)
MEMORY_SETTING = "`memory_gib` in the site's file"
CORES_SETTING = "`cpus` in the site's file, or `--cpus-per-worker`"


class StageAdvice(Record):
    """All that is advised of one curve."""

    name: str = Field(description="Stage, and what else tells its curve from others")
    choices: tuple[Choice, ...] = Field(description="One for each objective")
    limits: tuple[Limits, ...] = Field(
        description="At every N that was chosen, and at the next larger one measured"
    )
    excluded: tuple[str, ...] = Field(description="Configurations that are never chosen, and why")
    experiments: tuple[Experiment, ...] = Field(description="Runs that would settle it")
    request: Request | None = Field(description="What to ask for, for the objective of `Advice`")
    trust: Trust = Field("yes", description="Whether the numbers can be trusted")
    reasons: tuple[str, ...] = Field((), description="Why, in a few words each")
    notes: tuple[str, ...] = Field((), description="What cannot change the answer")

    @property
    def has_one_n(self) -> bool:
        """Whether there was nothing to choose among."""
        return all(len(choice.candidates) < 2 for choice in self.choices)


class RankAdvice(Record):
    """All that is advised of ranks that load patches, or that reconstruct one image together."""

    name: str = Field(description="The question, or the image")
    answers: tuple[str, ...] = Field(description="Sentences, what to ask for first")
    lines: tuple[str, ...] = Field((), description="Lines to paste")
    trust: Trust = Field(description="Whether the numbers can be trusted")
    reasons: tuple[str, ...] = Field(description="Why, in a few words each")


class Advice(Record):
    """The answer of `pyscale advise`."""

    title: str = Field(description="What was measured")
    objective: Objective = Field(description="The one that requests and directives are for")
    measured_for: str = Field(description="What was processed, and on what")
    stages: tuple[StageAdvice, ...]
    ranks: tuple[RankAdvice, ...] = Field((), description="Of what ranks do together")
    doubts: tuple[str, ...] = Field(description="Flags by which another N could be the best")
    worse: tuple[str, ...] = Field((), description="What stages measure, where it gets worse")
    directives: str = Field(description="What asks for the requests, to paste")
    table: Table | None = Field(
        None, exclude=True, description="Every choice, as a report lays them out"
    )
    warnings: tuple[str, ...] = Field(
        (), exclude=True, description="Of stages whose result may be wrong, in short"
    )
    line: BottomLine = Field(
        BottomLine(stages=()), exclude=True, description="The same as a report sums it up"
    )


def limits_of(curve: Curve, results: Results) -> list[Limits]:
    """What limits a curve of a report, near every N that is advised."""
    own = [choice for choice in results.choices if curve.owns(choice)]
    return limits_near(curve, own, results.limits)


def confidence(choice: Choice) -> str:
    """Say how sure a choice is, in short."""
    share = "" if choice.share_chosen is None else f" ({resampled_share(choice.share_chosen)})"
    return ABSENT if choice.workers is None else f"{choice.sureness}{share}"


def excluded(curve: Curve) -> list[str]:
    """Name the configurations that are never chosen, because they are invalid."""
    wrong = (row for row in curve.timed if row["invalid"])
    return [f"N = {row['workers']} is never chosen: {why_invalid(row)}." for row in wrong]


def doubts(found: Sequence[Curve]) -> list[str]:
    """Give the sentence of every flag, or assumption, by which another N could be the best."""
    valid = [
        replace(curve, rows=[row for row in curve.rows if not row["invalid"]]) for curve in found
    ]
    return [*sentences.doubts(valid, DOUBTFUL), *sentences.assumed_strong(found)]


def limits_near(curve: Curve, choices: Sequence[Choice], found: Sequence[Limits]) -> list[Limits]:
    """What limits a curve at every N of its choices, and at the next larger valid one measured."""
    invalid = {row["workers"] for row in curve.rows if row["invalid"]}
    own = [one for one in found if curve.owns(one) and one.workers not in invalid]
    counts: set[int] = set()
    for workers in (choice.workers for choice in choices):
        if workers is not None:
            counts |= {workers, *sorted(one.workers for one in own if one.workers > workers)[:1]}
    return [one for one in own if one.workers in counts]


def asked(request: Request, measured_for: str) -> str:
    """State what to ask for, with its margins, and for what it was measured."""
    parts = []
    if request.cpus:
        parts.append(plural(request.cpus, "core"))
    if request.gpus:
        parts.append(plural(request.gpus, "GPU"))
    if request.memory_bytes is not None:
        parts.append(
            f"{gib(request.memory_bytes)} GiB of memory ({MEMORY_MARGIN:g} x the peak of "
            f"{gib(request.peak_rss_bytes)} GiB, in whole GiB)"
        )
    step_min = TIME_STEP_S // 60
    of_what = "longest task" if request.tasks_timed else "longest trial, as no task was timed alone"
    parts.append(
        f"{request.time_s // 60} min ({TIME_MARGIN:g} x the {number(request.longest_task_s)} s of "
        f"the {of_what}, in whole {step_min} min)"
    )
    unknown = " Its memory was not measured." if request.memory_bytes is None else ""
    work, s = request.work_per_window, "s" * (request.work_per_window != 1)
    # A run names its device and counts frames; what a table counts, it does not tell.
    unit = f"unit{s} of work" if request.device is None else f"frame{s}"
    tasks = "the tasks" if work is None else f"tasks of {amount(work)} {unit}"
    return (
        f"Each task at N = {request.workers}: {listing(parts)}.{unknown} Measured on {tasks} of "
        f"{measured_for}: larger ones need more."
    )


def too_much(found: Sequence[Curve]) -> Iterator[str]:
    """State what the tasks of each stage requested and did not use, and what suffices."""
    # A request is one for all N, so the worker count that used most decides.
    for curve in found:
        # Where pyscale itself submitted the tasks, it knows their wait, and what set the request.
        knows = any(row["queue_s"] is not None for row in curve.timed)
        parts = []
        asked = [row for row in curve.timed if row["memory_to_request_bytes"] is not None]
        enough, requested, peak = _most(
            asked, "memory_to_request_bytes", "requested_memory_bytes", "peak_rss_bytes"
        )
        if enough < requested:
            parts.append(
                f"a task requested {gib(requested)} GiB of memory and used at most {gib(peak)}; "
                f"{gib(enough)} GiB ({MEMORY_MARGIN:g} times that, in whole GiB) suffices"
                f"{f' ({MEMORY_SETTING})' if knows else ''}"
            )
        asked = [
            row for row in curve.timed if None not in {row["requested_cpus"], row["cores_used"]}
        ]
        used, requested = _most(asked, "cores_used", "requested_cpus")
        # No part of a core can be asked for.
        if math.ceil(used) < requested:
            parts.append(
                f"a task requested {requested} cores and used {coarse(used)} on average"
                f"{f' ({CORES_SETTING})' if knows else ''}"
            )
        if parts:
            yield f"{curve.name}: {'; '.join(parts)}."


def _most(rows: Sequence[dict[str, Any]], *columns: str) -> list[Any]:
    return [max((row[column] for row in rows), default=0) for column in columns]

"""What to request, and why, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pydantic import Field

from pyscale.analysis.advice import NEAR, Choice, Experiment, Objective
from pyscale.analysis.causes import Limits
from pyscale.analysis.flags import DOUBTFUL
from pyscale.analysis.intervals import LIKELY, SURE, repeats_needed
from pyscale.analysis.judging import MARGIN
from pyscale.analysis.resource_request import MEMORY_MARGIN, TIME_MARGIN, TIME_STEP_S, Request
from pyscale.analysis.trust import Trust
from pyscale.report import sentences, templating
from pyscale.report.bottomline import BottomLine
from pyscale.report.curves import Curve
from pyscale.report.dictionary import labels
from pyscale.report.page.values import Table
from pyscale.wording import ABSENT, percent, resampled_share
from pyscale_stages.contract import Record

MEANING: dict[str, str] = {
    code: own["means"].format(margin=percent(MARGIN), near=percent(NEAR))
    for code, own in labels("objectives").items()
}
HOW_SURE, MARGINS = templating.sentences(
    "advice.j2",
    "margins",
    sure=SURE,
    likely=LIKELY,
    needed=repeats_needed(),
    memory_margin=MEMORY_MARGIN,
    time_margin=TIME_MARGIN,
    step_min=TIME_STEP_S // 60,
)


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
    trust: Trust = Field(description="Whether the numbers can be trusted")
    reasons: tuple[str, ...] = Field(description="Why, in a few words each")
    notes: tuple[str, ...] = Field(description="What cannot change the answer")

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
    objective: Objective = Field("knee", description="The one that requests and directives are for")
    measured_for: str = Field(description="What was processed, and on what")
    stages: tuple[StageAdvice, ...] = ()
    ranks: tuple[RankAdvice, ...] = Field((), description="Of what ranks do together")
    doubts: tuple[str, ...] = Field((), description="Flags by which another N could be the best")
    worse: tuple[str, ...] = Field((), description="What stages measure, where it gets worse")
    directives: str = Field("", description="What asks for the requests, to paste")
    table: Table | None = Field(
        None, exclude=True, description="Every choice, as a report lays them out"
    )
    warnings: tuple[str, ...] = Field(
        (), exclude=True, description="Of stages whose result may be wrong, in short"
    )
    line: BottomLine = Field(
        BottomLine(stages=()), exclude=True, description="The same as a report sums it up"
    )


def confidence(choice: Choice) -> str:
    """Say how sure a choice is, in short."""
    share = "" if choice.share_chosen is None else f" ({resampled_share(choice.share_chosen)})"
    return ABSENT if choice.workers is None else f"{choice.sureness}{share}"


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
    (told,) = templating.sentences(
        "advice.j2",
        "asked",
        request=request,
        measured_for=measured_for,
        memory_margin=MEMORY_MARGIN,
        time_margin=TIME_MARGIN,
        step_min=TIME_STEP_S // 60,
    )
    return told


def too_much(found: Sequence[Curve]) -> Iterator[str]:
    """State what the tasks of each stage requested and did not use, and what suffices."""
    for curve in found:
        yield from templating.sentences(
            "advice.j2",
            "too_much",
            name=curve.name,
            rows=curve.timed,
            # Where pyscale itself submitted the tasks, it knows their wait, and what set them.
            is_ours=any(row["queue_s"] is not None for row in curve.timed),
            margin=MEMORY_MARGIN,
        )

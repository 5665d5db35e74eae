"""The bottom line of a report: a row a stage, the whole, what to request and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

from pydantic import Field

from pyscale.analysis.advice import Choice, Experiment, Objective
from pyscale.analysis.causes import START_UP, Limits
from pyscale.analysis.flags import UNCHECKED
from pyscale.analysis.judging import MARGIN
from pyscale.analysis.trust import Trust, not_compared, refusal, trust_in
from pyscale.report.curves import Curve, curves
from pyscale.report.dictionary import labels
from pyscale.report.results import Results
from pyscale.report.sentences import rival
from pyscale.report.templating import sentences
from pyscale.wording import (
    at_each_n,
    grouped,
    listing,
    percent,
    ratio,
    titled,
)
from pyscale_stages.contract import Record

Row = dict[str, Any]
NOT_KNOWN = "not known"
"""What limits scaling, where only whole trials were timed or there is nothing to compare."""
Outputs = Literal["same bytes", "agree", "differ", "partly checked", "not checked"]
NAMES: dict[str, str] = {code: own["name"] for code, own in labels("objectives").items()}
"""What each objective is called."""


class StageLine(Record):
    """One curve over N."""

    name: str = Field(description="Stage, and what else tells its curve from others")
    algorithm: str | None = Field(description="What ran; None where that is not known")
    stand_in: str | None = Field(description="Sentence where a small stand-in model ran")
    points: tuple[Row, ...] = Field(
        description="Its rows of the table of configurations that have a time, by rising N"
    )
    best_value: int | None = Field(description="N of best value; None where none is advised")
    fastest: int | None = Field(description="Fewest workers within 5 % of the fastest")
    chosen: int | None = Field(description="N of the objective; None where none is advised")
    shown_at: int | None = Field(
        description="N of `limit` and of the speedup to show: the chosen one or, where that is "
        "the baseline, the next; None where there is none"
    )
    limit: str = Field(description="What limits scaling, in a few words")
    limit_sentence: str = Field(description="The same with numbers")
    without_start_up: str | None = Field(
        description="Speedup without it, as in `N = 2, 1.8 times`; None where it is not the limit"
    )
    requested: int | None = Field(description="Tasks at once, of which `each_task` is one")
    each_task: str = Field(description="What one task asks for, as in `1 core, 2 GiB, 5 min`")
    confidence: str | None = Field(description="Of the choice; None where there was none")
    refusal: str | None = Field(description="Why no N is advised")
    trust: Trust
    reasons: tuple[str, ...] = Field(description="Why it is trusted so, in a few words each")
    notes: tuple[str, ...] = Field(description="What cannot change the answer")

    @property
    def shown(self) -> Row | None:
        """The point whose speedup is shown."""
        return self.at(self.shown_at)

    @property
    def quickest(self) -> Row:
        """The point of the least time for the same work."""
        return min(self.valid, key=lambda one: (self.time_s(one), one["workers"]))

    @property
    def valid(self) -> tuple[Row, ...]:
        """The points whose output is the baseline's."""
        return tuple(one for one in self.points if not one["invalid"])

    def at(self, workers: int | None) -> Row | None:
        """The point at one N."""
        return next((one for one in self.points if one["workers"] == workers), None)

    def time_s(self, one: Row) -> float:
        """Time of the baseline's work at a valid point, which follows from the speedup."""
        time_s: float = self.points[0]["wall_s"] / (one["speedup"] or 1.0)
        return time_s


class Mix(Record):
    """All stages, each at an N of its own."""

    wall_s: float = Field(description="Sum over the stages")
    worker_s: float = Field(description="Sum of N x time")
    speedup: float = Field(description="Over the sum at the baseline")


class Total(Record):
    """All stages one after the other."""

    name: str = Field(description="`whole pipeline`, or what else the sum is of")
    baseline_workers: int = Field(description="N0 of every stage")
    wall_s: float = Field(description="Sum of all stages at N0")
    requested: Mix | None = Field(description="As requested; None where a stage has no request")


class BottomLine(Record):
    """What a reader in a hurry must know of stages over N."""

    stages: tuple[StageLine, ...]
    total: Total | None = None
    outputs: Outputs | None = Field(None, description="None where nothing was timed")
    outputs_sentence: str = ""
    request: tuple[str, ...] = Field((), description="Sentences: what to request, at what price")
    confidence: str = Field("", description="Confidence of the request, as `unknown (2 trials)`")
    objective: Objective = Field("knee", description="What request and confidence are of")
    doubts: dict[Trust, tuple[str, ...]] = Field(
        {}, description="By each grade but `yes`, the worst first: its reasons, with their stages"
    )
    notes: tuple[str, ...] = Field((), description="What cannot change the answer, with stages")
    next_run: Experiment | None = Field(None, description="It would make the answer more certain")


def bottom_line(results: Results, objective: Objective = "knee") -> BottomLine:
    """Sum a report up; without stages over N there is nothing in it."""
    own = results.about_workers()
    found = curves(own.configurations)
    stages = tuple(_stage(curve, own, objective) for curve in found)
    if not stages:
        return BottomLine(stages=())
    # Why no N is advised stands with the request.
    said = [(one, why) for one in stages for why in one.reasons if why != one.refusal]
    total = _total(found, stages, own)
    # `Trust` names its grades from the best to the worst.
    of_grade = {
        grade: _merged([(s.name, one) for s, one in said if s.trust == grade], stages)
        for grade in get_args(Trust)[:0:-1]
    }
    return BottomLine(
        stages=stages,
        total=total,
        **_outputs(found),
        request=tuple(_request(stages, total, objective)),
        confidence=_confidence(stages),
        objective=objective,
        doubts={grade: reasons for grade, reasons in of_grade.items() if reasons},
        notes=_merged([(s.name, one) for s in stages for one in s.notes], stages),
        next_run=next((one for one in own.next_runs if one.command), None),
    )


def _stage(curve: Curve, results: Results, objective: Objective) -> StageLine:
    work = results.context.works.get(curve.key["stage"])
    own = {one.objective: one for one in results.choices if curve.owns(one)}
    choice, knee, fastest = (own.get(one) for one in (objective, "knee", "fastest"))
    request = next((one for one in results.requests if curve.owns(one)), None)
    best = None if choice is None else choice.workers
    valid = [row["workers"] for row in curve.timed[1:] if not row["invalid"]]
    # The baseline has no speedup, so that where it is chosen the next N is shown.
    shown_at = next((workers for workers in valid if best and workers >= best), None)
    trusted = trust_in(curve.rows, choice, shown_at)
    limits = _nearest(curve, choice, results.limits)
    gained = None if limits is None else _without_start_up(limits)
    limit, rest = sentences(
        "bottom.j2",
        "limit",
        found=limits,
        chosen=best,
        rival=limits and rival(limits),
        without_start_up=gained,
    )
    return StageLine(
        name=curve.name,
        algorithm=None if work is None else work.how,
        stand_in=None if work is None else work.stand_in,
        points=tuple(curve.timed),
        best_value=None if knee is None else knee.workers,
        chosen=best,
        fastest=None if fastest is None else fastest.workers,
        shown_at=shown_at,
        limit=limit,
        limit_sentence=f"{titled(limit)}{rest}",
        without_start_up=gained,
        requested=None if request is None else request.workers,
        each_task="".join(sentences("bottom.j2", "each_task", request=request) if request else []),
        confidence=_confidence_of(choice, curve),
        refusal=None if best else refusal(choice),
        trust=trusted.grade,
        reasons=trusted.reasons,
        notes=trusted.notes,
    )


def _nearest(curve: Curve, choice: Choice | None, found: Sequence[Limits]) -> Limits | None:
    """Limits of the chosen N or, where that is the baseline, of the next one."""
    invalid = {row["workers"] for row in curve.rows if row["invalid"]}
    chosen = 0 if choice is None else choice.workers or 0
    near = [
        one
        for one in found
        if curve.owns(one) and one.workers >= chosen and one.workers not in invalid
    ]
    return min(near, key=lambda one: one.workers, default=None)


def _without_start_up(limits: Limits) -> str | None:
    """The speedup with no more start-up in sum than the baseline's; None: it is not the limit."""
    main = limits.main
    if main is None or main.code != START_UP or limits.sureness == "undecided":
        return None
    speedup = main.efficiency * limits.workers / limits.baseline_workers
    return f"N = {limits.workers}, {ratio(speedup)} times"


def _total(found: Sequence[Curve], stages: Sequence[StageLine], results: Results) -> Total | None:
    names = [curve.key["stage"] for curve in found]
    suites = {curve.key["suite"] for curve in found}
    is_one = results.context.adds_up
    if len(found) < 2 or len(suites) > 1 or len({*names}) < len(names) or is_one is False:
        return None
    # Sums of times of other work at each N give no speedup.
    strong = all(row["scaling"] in {None, "strong"} for curve in found for row in curve.timed)
    bases = {stage.points[0]["workers"] if stage.points else 0 for stage in stages}
    is_invalid = any(one["invalid"] for stage in stages for one in stage.points[:1])
    if not strong or is_invalid or len(bases) > 1 or 0 in bases:
        return None
    return Total(
        name="whole pipeline" if is_one else "all stages",
        baseline_workers=bases.pop(),
        wall_s=sum(stage.points[0]["wall_s"] for stage in stages),
        requested=_mix(stages, [stage.chosen for stage in stages]),
    )


def _mix(stages: Sequence[StageLine], counts: Sequence[int | None]) -> Mix | None:
    """Sum stages up, each at its N, for the baseline's work."""
    own = zip(stages, counts, strict=True)
    times = [(stage.time_s(one), one["workers"]) for stage, n in own if (one := stage.at(n))]
    if len(times) < len(stages):
        return None
    wall_s = sum(time_s for time_s, _ in times)
    return Mix(
        wall_s=wall_s,
        worker_s=sum(workers * time_s for time_s, workers in times),
        speedup=sum(stage.points[0]["wall_s"] for stage in stages) / wall_s,
    )


def _outputs(found: Sequence[Curve]) -> dict[str, Any]:
    timed = {curve.name: curve.timed for curve in found if curve.timed}
    if not timed:
        return {}
    checked = {
        name: rows
        for name, rows in timed.items()
        if not not_compared(rows) and UNCHECKED.isdisjoint(rows[0]["flags"])
    }
    differ = at_each_n(
        (name, row["workers"]) for name, rows in timed.items() for row in rows if row["invalid"]
    )
    code, told = sentences("bottom.j2", "outputs", timed=timed, checked=checked, differ=differ)
    return {"outputs": code, "outputs_sentence": told}


def _request(stages: Sequence[StageLine], total: Total | None, objective: Objective) -> list[str]:
    """Say what to request, beside what is faster; of one N cores, memory and time of a task."""
    scaled = [stage for stage in stages if len(stage.valid) > 1 and stage.chosen]
    alone = [stage for stage in stages if len(stage.valid) == 1 and stage.chosen]
    others = [stage for stage in scaled if stage.fastest != stage.best_value]
    # What the fastest costs is told of all stages, where they add up.
    own = stages if total is not None and total.requested else others
    best, fast = (
        _mix(own, [getattr(stage, which) for stage in own]) if others else None
        for which in ("best_value", "fastest")
    )
    return sentences(
        "request.j2",
        stages=stages,
        scaled=scaled,
        alone=alone,
        faster=[stage for stage in scaled if stage.quickest["workers"] != stage.chosen],
        others=others,
        exact=all(stage.fastest == stage.quickest["workers"] for stage in others),
        best=best,
        fast=fast,
        tasks=grouped(((stage.chosen, stage.each_task), stage.name) for stage in alone),
        measured_once=all(len(stage.points) == 1 for stage in alone),
        objective=objective,
        margin=percent(MARGIN),
        by_n=lambda own, which: grouped((getattr(stage, which), stage.name) for stage in own),
    )


def _confidence(stages: Sequence[StageLine]) -> str:
    """Name each confidence with its stages; choices with one candidate have none."""
    groups = grouped((one.confidence, one.name) for one in stages if one.confidence)
    if len(groups) == 1 and len(next(iter(groups.values()))) == len(stages):
        return next(iter(groups))
    return "; ".join(f"{told} for {listing(names)}" for told, names in groups.items())


def _confidence_of(choice: Choice | None, curve: Curve) -> str | None:
    """As `likely (86 %)` or `unknown (2 trials)`; None where there was nothing to choose among."""
    if choice is None or choice.workers is None or len(choice.candidates) < 2:
        return None
    fewest = min(row["repeats"] for row in curve.timed if not row["invalid"])
    (told,) = sentences("bottom.j2", "confidence", choice=choice, fewest=fewest)
    return told


def _merged(said: Iterable[tuple[str, str]], stages: Sequence[StageLine]) -> tuple[str, ...]:
    """Merge equal reasons of several stages, each told once."""
    of_reason = grouped((reason, name) for name, reason in said)
    of_names = grouped(
        ("" if len(names) == len(stages) else f"{listing(names)}: ", reason)
        for reason, names in of_reason.items()
    )
    return tuple(f"{who}{', '.join(reasons)}" for who, reasons in of_names.items())

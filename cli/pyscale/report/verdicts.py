"""The verdict on each curve, short enough for the first screen of the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field

from pyscale.analysis.advice import Choice
from pyscale.analysis.causes import Limits
from pyscale.analysis.requests import Request
from pyscale.analysis.trust import Trust, trust_in
from pyscale.report.curves import Curve, curves
from pyscale.report.results import Results
from pyscale.report.wording import gib, ratio
from pyscale_stages.contract import Record

CAUSES = {
    "imbalance": "uneven shares of the work",
    "start-up": "start-up",
    "reading": "reading",
    "writing": "writing",
    "merging": "merging the windows",
    "contention": "waiting for cores",
    "work-inflation": "work inflation",
    "unattributed": "time that no phase covers",
    "busy": "tasks that take longer in sum",
}
"""Every cause of loss in a few words; `pyscale.report.limits.NAMES` explains them."""


class Said(Record):
    """A sentence that begins with what a glance must catch."""

    head: str = Field(description="What it comes down to")
    rest: str = Field(description="The rest of the sentence, from the first space or comma on")

    @property
    def sentence(self) -> str:
        """The whole."""
        return f"{self.head}{self.rest}"


class Verdict(Record):
    """What a reader in a hurry must know of one curve."""

    name: str = Field(description="Stage, and what else tells its curve from others")
    suite: str | None = Field(description="Suite of the curve")
    stage: str = Field(description="Stage of the curve")
    device: str | None = Field(description="Device of the curve")
    workers: int | None = Field(description="N to request; None where none is advised")
    speedup_at: int | None = Field(
        description="N of the speedup: the one to request or, where that is the baseline, the "
        "next; None where there is none"
    )
    limit: Said = Field(description="What limits scaling")
    trust: Trust = Field(description="Whether the numbers can be trusted")
    reasons: tuple[str, ...] = Field(description="Why, in a few words each")
    notes: tuple[str, ...] = Field(description="What cannot change the answer, in a few words each")


def verdicts(results: Results) -> list[Verdict]:
    """Say of each curve what to request, what limits it, and whether that can be trusted.

    What to request is the N of best value: the largest speedup x efficiency.
    """
    return [_verdict(curve, results) for curve in curves(results.configurations)]


def _verdict(curve: Curve, results: Results) -> Verdict:
    own = (one for one in results.choices if curve.owns(one) and one.objective == "knee")
    choice = next(own, None)
    shown = _shown(curve, choice)
    trusted = trust_in(curve.rows, choice, shown)
    return Verdict(
        name=curve.name,
        **curve.key,
        workers=None if choice is None else choice.workers,
        speedup_at=shown,
        limit=_limit(curve, choice, results.limits),
        trust=trusted.grade,
        reasons=trusted.reasons,
        notes=trusted.notes,
    )


def _shown(curve: Curve, choice: Choice | None) -> int | None:
    """N whose speedup is told; None where there is none."""
    if choice is None or choice.workers is None:
        return None
    valid = [row["workers"] for row in curve.timed[1:] if not row["invalid"]]
    return next((count for count in valid if count >= choice.workers), None)


def each_task(request: Request) -> Iterator[str]:
    """What one task asks for, in words."""
    if request.cpus:
        yield f"{request.cpus} core{'s' * (request.cpus > 1)}"
    if request.gpus:
        yield f"{request.gpus} GPU{'s' * (request.gpus > 1)}"
    if request.memory_bytes is not None:
        yield f"{gib(request.memory_bytes)} GiB"
    yield f"{request.time_s // 60} min"


def _limit(curve: Curve, choice: Choice | None, found: Sequence[Limits]) -> Said:
    """Say what limits the chosen N or, where that is the baseline, the next one."""
    invalid = {row["workers"] for row in curve.rows if row["invalid"]}
    chosen = 0 if choice is None else choice.workers or 0
    near = [
        one
        for one in found
        if curve.owns(one) and one.workers >= chosen and one.workers not in invalid
    ]
    if not near:
        return Said(head="Not known", rest=": there is no other N with a valid output.")
    limits = min(near, key=lambda one: one.workers)
    at = "" if limits.workers == chosen else f" at N = {limits.workers}"
    if not limits.causes:
        return Said(head="Not known", rest=": only whole trials were timed.")
    main, measured = limits.main, f"efficiency {ratio(limits.efficiency)}"
    if main is None:
        return Said(head="No single cause", rest=f"{at}: {measured}.")
    if limits.sureness == "undecided":
        rival = max(limits.causes[1:], key=lambda cause: cause.share_first or 0.0)
        return Said(
            head=f"{_begun(CAUSES[main.code])} or {CAUSES[rival.code]}",
            rest=f"{at}, undecided: {measured}, without the one {ratio(main.efficiency)}, without "
            f"the other {ratio(rival.efficiency)}.",
        )
    sure = {"likely": ", probably", "unknown": ", it seems"}.get(limits.sureness or "", "")
    without = f"{measured}, without it {ratio(main.efficiency)}"
    return Said(head=_begun(CAUSES[main.code]), rest=f"{at}{sure}: {without}.")


def _begun(sentence: str) -> str:
    return f"{sentence[0].upper()}{sentence[1:]}"

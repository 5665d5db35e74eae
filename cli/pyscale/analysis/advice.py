"""N to request for an objective, how sure that is, and which runs would settle it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from pydantic import Field

from pyscale.analysis.doubts import coarse_step
from pyscale.analysis.intervals import (
    Array,
    Sureness,
    in_shared_blocks,
    repeats_needed,
    resampled_medians,
    sureness,
)
from pyscale.analysis.judging import MARGIN
from pyscale.analysis.losses import GROUP, OfCurve, in_curve
from pyscale_stages.contract import Record

Objective = Literal["knee", "fastest", "most", "soonest", "min_efficiency", "deadline", "budget"]
EXACT: tuple[Objective, ...] = ("knee", "deadline")
"""Objectives without a margin: of the others the first that is close to the best is chosen."""
NEAR = 0.10
"""What `most` may be slower than the fastest."""


class Aim(Record):
    """What N is to be best for."""

    objective: Objective = "knee"
    limit: float | None = Field(
        None, description="Of min_efficiency a share, of deadline seconds, of budget worker-hours"
    )


ALWAYS = (Aim(objective="knee"), Aim(objective="fastest"))
"""What every report tells."""


class Choice(OfCurve):
    """The N that serves one objective best, on one curve."""

    objective: Objective
    limit: float | None = Field(None, description="As that of `Aim`")
    candidates: tuple[int, ...] = Field(
        description="Every N that could be chosen: timed, and with outputs that agree"
    )
    workers: int | None = Field(None, description="The N to request; None where refused")
    repeats: int | None = Field(None, description="Timed trials at this N")
    wall_s: float | None = Field(None, description="Median T(N)")
    wall_s_low: float | None = None
    wall_s_high: float | None = None
    speedup: float | None = Field(None, description="Over the baseline; scaled where work grew")
    speedup_low: float | None = None
    speedup_high: float | None = None
    efficiency: float | None = None
    worker_hours: float | None = Field(None, description="N * T(N) / 3600")
    wait_s: float | None = Field(None, description="Of soonest: wait in the queue at this N")
    baseline_workers: int | None = Field(None, description="N0")
    scaling: str | None = Field(None, description="strong, weak or mixed")
    share_chosen: float | None = Field(
        None,
        description="Share of bootstrap resamples of the trials in which this N holds: knee and "
        "deadline, it is the best; others, its time is within their margin of the least. None "
        "where a candidate has too few trials, or there is no other",
    )
    share_close: float | None = Field(
        None,
        description="Share of resamples in which it is within 5 % of the best, by the objective: "
        "from 95 % on, more trials would change little",
    )
    rival: int | None = Field(
        None,
        description="The N that is chosen most often in resamples where this one does not hold",
    )
    at_edge: bool = Field(
        False,
        description="It is the largest N that was measured, and over 5 % faster than the one "
        "before: a larger one may be better",
    )
    refusal: str | None = Field(None, description="Why there is no N, in a sentence")

    @property
    def sureness(self) -> Sureness:
        """Confidence of the choice, in a word."""
        return sureness(self.share_chosen)

    @property
    def is_close(self) -> bool:
        """Whether it is surely close to the best, so that more trials would change little."""
        return sureness(self.share_close) == "sure"


def choices(
    configurations: pl.DataFrame,
    trials: pl.DataFrame,
    *,
    aims: Sequence[Aim] = ALWAYS,
    waits_s: Mapping[int, float] | None = None,
    interleaved: bool = True,
) -> list[Choice]:
    """Choose the N for each aim, on every curve.

    - `knee`: the largest speedup x efficiency, where efficiency over wall time is largest too
      (Eager, Zahorjan and Lazowska 1989, IEEE Transactions on Computers 38:408). It does not depend
      on N0.
    - `fastest`: the fewest workers as fast as the fastest within 5 %, by the median wall time for
      the same work.
    - `most`: the same within 10 %.
    - `soonest`: the same as `fastest` with the wait in the queue added, `waits_s` by N.
    - `min_efficiency`: `fastest` among those of at least that efficiency.
    - `deadline`: the fewest workers whose wall time is within it.
    - `budget`: `fastest` among those of which `N * T(N)` is within so many worker-hours.

    Of equal ones the fewest workers are chosen, and none that is `invalid`. `interleaved` is
    whether equal blocks ran close in time: whole blocks are resampled then, those in which every
    candidate has a timed trial. How often a choice is right is simulated in
    `benchmarks/sim_advice.py`.
    """
    found: list[Choice] = []
    for key, curve in configurations.group_by(GROUP, maintain_order=True):
        named = dict(zip(GROUP, key, strict=True))
        timed = curve.filter(pl.col("wall_s").is_not_null()).sort("workers")
        rows = timed.filter(~pl.col("invalid")).to_dicts()
        about: dict[str, Any] = named | {"candidates": tuple(row["workers"] for row in rows)}
        if not rows:
            refusal = (
                "every timed configuration is invalid (see its flags)"
                if timed.height
                else "no timed trial"
            )
            found += [Choice(**about, **dict(one), refusal=refusal) for one in aims]
            continue
        own = trials.filter("valid", in_curve(named))
        candidates = _Candidates(rows, own, waits_s or {}, interleaved=interleaved)
        # A larger N that is invalid was measured all the same.
        edge = timed["workers"].max() if candidates.still_gains else None
        for one in aims:
            chosen = _chosen(candidates, one)
            # More workers than a deadline needs are not wanted.
            ends_here = edge is not None and chosen.get("workers") == edge
            at_edge = ends_here and one.objective != "deadline"
            found.append(Choice(**about, **dict(one), at_edge=at_edge, **chosen))
    return found


class _Candidates:
    """Numbers of one curve by rising N, from which a choice is made."""

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        timed: pl.DataFrame,
        waits_s: Mapping[int, float],
        *,
        interleaved: bool,
    ) -> None:
        self.rows = rows
        self.counts = np.array([row["workers"] for row in rows])
        self.waits_s = np.array([waits_s.get(row["workers"], np.nan) for row in rows])
        self.walls_s = np.array([row["wall_s"] for row in rows])
        self.is_strong = rows[0]["scaling"] in {None, "strong"}
        # Where the work differs, wall times are compared for equal work.
        self.work = np.array([1.0 if self.is_strong else row["work"] for row in rows])
        arms = [timed.filter(timed["workers"] == count).sort("block") for count in self.counts]
        enough = min(arm.height for arm in arms) >= repeats_needed()
        self.resampled_s = (
            _medians(arms, interleaved=interleaved) if enough and len(arms) > 1 else None
        )

    @property
    def still_gains(self) -> bool:
        """Whether the largest N beats the one before it by more than may be noise."""
        times_s = self.walls_s / self.work
        # Of one N nothing says that a larger one gains no more.
        return len(times_s) == 1 or bool(times_s[-2] > (1 + MARGIN) * times_s[-1])

    def costs(self, walls_s: Array, aim: Aim) -> Array:
        """Costs by objective, for rows of wall times; infinite beyond its limit."""
        times_s: Array = walls_s / self.work
        match aim.objective:
            case "knee":
                # The inverse of speedup x efficiency, but for a factor of the curve.
                return np.asarray(self.counts * times_s**2)
            case "soonest":
                return np.asarray(times_s + self.waits_s)
            case "deadline":
                return np.where(walls_s <= aim.limit, self.counts, np.inf)
            case "min_efficiency":
                efficient = np.array([row["efficiency"] for row in self.rows])
                # The baseline's median is held: its noise would be that of every N.
                within = efficient * self.walls_s / walls_s >= aim.limit
            case "budget":
                within = self.counts * walls_s <= 3600 * (aim.limit or 0)
            case _:
                return times_s
        return np.where(within, times_s, np.inf)

    def refusal(self, aim: Aim) -> str | None:
        """Why none can be chosen, whatever the times."""
        if aim.objective in {"deadline", "budget"} and not self.is_strong:
            return (
                "each N processed a different amount of work, so what the same work takes at "
                "another N is unknown"
            )
        unknown = self.counts[np.isnan(self.waits_s)]
        if aim.objective == "soonest" and unknown.size:
            return (
                f"the wait in the queue is not known at N = {', '.join(map(str, unknown))}: a run "
                'on a site with jobs = "each-n" measures it'
            )
        return None

    def nearest(self, aim: Aim) -> str:
        """Why none is within the limit, and what comes nearest."""
        if aim.objective == "deadline":
            least = int(self.walls_s.argmin())
            return (
                f"no measured N takes {aim.limit:g} s or less; the fastest, "
                f"N = {self.counts[least]}, takes {self.walls_s[least]:.3g} s"
            )
        worker_hours = self.counts * self.walls_s / 3600
        least = int(worker_hours.argmin())
        return (
            f"no measured N takes {aim.limit:g} worker-hours or less; the cheapest, "
            f"N = {self.counts[least]}, takes {worker_hours[least]:.3g}"
        )


def _close(costs: Array, aim: Aim) -> Array:
    """Mask of the N within the margin of the best of their row."""
    least = costs.min(axis=-1, keepdims=True)
    margin = NEAR if aim.objective == "most" else MARGIN
    # Costs beyond the limit are infinite, and close to none.
    return np.asarray((costs <= (1 + margin) * least) & np.isfinite(costs))


def _best(costs: Array, aim: Aim) -> Array:
    """Place of the N to choose in each row; -1 where none is within the limit."""
    # On a flat curve noise makes any N the fastest, so the first of those that are close is taken.
    places = (costs if aim.objective in EXACT else ~_close(costs, aim)).argmin(axis=-1)
    return np.where(np.isinf(costs.min(axis=-1)), -1, places)


def _chosen(candidates: _Candidates, aim: Aim) -> dict[str, Any]:
    """Fields of a choice beyond its curve and aim."""
    if refusal := candidates.refusal(aim):
        return {"refusal": refusal}
    place = int(_best(candidates.costs(candidates.walls_s, aim), aim))
    if place < 0:
        return {"refusal": candidates.nearest(aim)}
    row = candidates.rows[place]
    same = ("workers", "repeats", "wall_s", "speedup", "efficiency", "baseline_workers", "scaling")
    ends = (f"{name}_{end}" for name in ("wall_s", "speedup") for end in ("low", "high"))
    fields: dict[str, Any] = {name: row[name] for name in (*same, *ends)}
    fields["worker_hours"] = row["workers"] * row["wall_s"] / 3600
    if aim.objective == "soonest":
        fields["wait_s"] = float(candidates.waits_s[place])
    if candidates.resampled_s is None:
        return fields
    costs = candidates.costs(candidates.resampled_s, aim)
    places, close = _best(costs, aim), _close(costs, aim)[:, place]
    holds = places == place if aim.objective in EXACT else close
    fields["share_chosen"], fields["share_close"] = float(holds.mean()), float(close.mean())
    others = places[~holds & (places >= 0)]
    if others.size:
        fields["rival"] = int(candidates.counts[np.bincount(others).argmax()])
    return fields


def _medians(arms: Sequence[pl.DataFrame], *, interleaved: bool) -> Array:
    """Median wall times of bootstrap resamples, shape (resamples, configurations)."""
    shared = in_shared_blocks(arms, "wall_s") if interleaved else None
    walls_s = shared or [arm["wall_s"].to_list() for arm in arms]
    found = resampled_medians([np.array(own) for own in walls_s], paired=shared is not None)
    steps_s = np.array([coarse_step(arm) for arm in arms])
    if not steps_s.any():
        return found
    # A rounded time is any within half a step.
    rounding_s: Array = steps_s * np.random.default_rng(0).uniform(-0.5, 0.5, found.shape)
    return np.asarray(found + rounding_s)


MORE_REPEATS = 2
"""By how much the trials of two rivals are multiplied."""

Code = Literal["few-repeats", "undecided", "larger", "smaller"]
ORDER: tuple[Code, ...] = get_args(Code)
"""The most needed first."""


class Experiment(Record):
    """A run that would settle one question."""

    code: Code
    reason: str = Field(description="The question, in a sentence")
    workers: tuple[int, ...] = Field(description="Every N to measure, rising")
    repeats: int = Field(description="Trials of each")
    command: str | None = Field(
        None, description="Line to paste; None where no line of pyscale measures it"
    )


def experiments(
    choice: Choice, fewest_repeats: int, *, frames: int | None = None
) -> Iterator[Experiment]:
    """Name the runs that would settle a choice, the most needed first; `frames` bound N."""
    best, base, rival = choice.workers, choice.baseline_workers, choice.rival
    if best is None or base is None:
        return

    def asked(code: Code, reason: str, counts: Sequence[int], repeats: int) -> Experiment:
        workers = tuple(sorted({*counts}))
        return Experiment(code=code, reason=reason, workers=workers, repeats=repeats)

    needed = repeats_needed()
    enough = max(fewest_repeats, needed)
    if fewest_repeats < needed and len(choice.candidates) > 1:
        reason = (
            f"Fewer than {needed} trials of some N were timed, so the confidence of this choice "
            f"is unknown: time {needed} of each."
        )
        yield asked("few-repeats", reason, (base, *choice.candidates), needed)
    elif choice.sureness in {"likely", "undecided"} and rival is not None and not choice.is_close:
        more = MORE_REPEATS * fewest_repeats
        one, other = sorted((best, rival))
        reason = (
            f"{fewest_repeats} trials do not settle whether N = {one} or N = {other} is the "
            f"better choice: time {more} of each."
        )
        yield asked("undecided", reason, (base, best, rival), more)
    larger = 2 * best if frames is None else min(2 * best, frames)
    if choice.at_edge and larger > best:
        reason = f"N = {best} is the largest measured: a larger one may be better."
        yield asked("larger", reason, (base, best, larger), enough)
    if best == base > 1:
        reason = f"N = {best} is the smallest measured: a smaller one may be better."
        yield asked("smaller", reason, (best // 2, best), enough)

"""Which N to request for an objective, and how sure the trials make it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import Field

from pyscale.analysis.intervals import medians, repeats_needed, resamples
from pyscale.analysis.losses import GROUP, OfCurve, in_curve
from pyscale.analysis.sureness import Sureness, sureness

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from pyscale.analysis.intervals import Array

Objective = Literal["knee", "fastest", "budget"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)

DOUBTFUL = (
    "check-failed",
    "mixed-hardware",
    "oversubscribed",
    "disturbed",
    "drift",
    "unstable",
    "workers-did-not-overlap",
    "warm-not-cold",
    "cache-uncontrolled",
    "failed-trials",
)
"""Flags by which another N could be the best in truth. The others cost precision alone, which the
share of resamples holds, or are a configuration's end, as `invalid` is."""


class Choice(OfCurve):
    """The N that serves one objective best, on one curve."""

    objective: Objective
    worker_hours_limit: float | None = Field(None, description="The budget, where that is it")
    candidates: tuple[int, ...] = Field(
        description="Every N that could be chosen: timed, and with outputs that agree"
    )
    workers: int | None = Field(None, description="The N to request; None where refused")
    repeats: int | None = Field(None, description="Timed trials at this N")
    wall_s: float | None = Field(None, description="Median T(N)")
    wall_s_low: float | None = None
    wall_s_high: float | None = None
    speedup: float | None = Field(None, description="Over the base case; scaled where work grew")
    speedup_low: float | None = None
    speedup_high: float | None = None
    efficiency: float | None = None
    worker_hours: float | None = Field(None, description="N * T(N) / 3600")
    baseline_workers: int | None = Field(None, description="N0")
    scaling: str | None = Field(None, description="strong, weak or mixed")
    share_chosen: float | None = Field(
        None,
        description="Share of bootstrap resamples of the trials in which this N is chosen; None "
        "where a candidate has too few trials, or there is no other",
    )
    rival: int | None = Field(None, description="The other N that is chosen most often")
    at_edge: bool = Field(False, description="It is the largest N that was measured")
    refusal: str | None = Field(None, description="Why there is no N, in a sentence")

    @property
    def sureness(self) -> Sureness:
        """How sure the choice is, in a word."""
        return sureness(self.share_chosen)


def choices(
    configurations: pl.DataFrame,
    trials: pl.DataFrame,
    *,
    objectives: Sequence[Objective] = OBJECTIVES,
    worker_hours: float | None = None,
    interleaved: bool = True,
) -> list[Choice]:
    """Choose the N for each objective, on every curve.

    - `knee`: the largest speedup x efficiency, where efficiency over wall time is largest too
      (Eager, Zahorjan and Lazowska 1989, IEEE Transactions on Computers 38:408). It does not
      depend on N0.
    - `fastest`: the largest speedup, which is the least median wall time where the work is one.
    - `budget`: the fastest of which `N * T(N)` is within so many worker-hours.

    Of equal ones the fewest workers are chosen. A configuration that is `invalid` never is.

    Parameters
    ----------
    configurations : polars.DataFrame
        As `pyscale.analysis.scaling.configurations` gives it.
    trials : polars.DataFrame
        The trials that it was made from.
    objectives : sequence of str
        `budget` is left out where no worker-hours are given.
    worker_hours : float or None
        What one pass over the movie may cost, in hours of one worker.
    interleaved : bool
        Whether equal blocks ran close in time: whole blocks are resampled then, where every
        candidate has a timed trial in each, so that what a block's trials share cancels.

    Returns
    -------
    list of Choice
        Curves in the order of `configurations`, each by objective.

    Notes
    -----
    On 500 simulated curves each (3 % noise, 6 paired blocks; in brackets 10), the fastest of two N
    that are alike in truth was called sure in 12 % (8 %), of four alike in 2 % (1 %); of two that
    differ by 2 % the slower was surely called the faster in 0.6 % (0.2 %), and where they differ by
    10 % the right one was sure in 98 % or more.
    """
    import polars as pl

    wanted = [one for one in objectives if one != "budget" or worker_hours is not None]
    found: list[Choice] = []
    for key, curve in configurations.group_by(GROUP, maintain_order=True):
        named = dict(zip(GROUP, key, strict=True))
        timed = curve.filter(pl.col("wall_s").is_not_null()).sort("workers")
        rows = timed.filter(~pl.col("invalid")).to_dicts()
        about: dict[str, Any] = named | {"candidates": tuple(row["workers"] for row in rows)}
        if not rows:
            refusal = (
                "the outputs of every timed configuration disagree with the baseline's"
                if timed.height
                else "no trial was timed"
            )
            found += [Choice(**about, objective=one, refusal=refusal) for one in wanted]
            continue
        own = trials.filter("valid", in_curve(named))
        candidates = _Candidates(rows, own, interleaved=interleaved)
        at_edge = timed["workers"].max()
        for objective in wanted:
            limit_hours = worker_hours if objective == "budget" else None
            chosen = _chosen(candidates, objective, limit_hours)
            edge = {"at_edge": chosen.get("workers") == at_edge}
            found.append(Choice(**about, objective=objective, **(chosen | edge)))
    return found


class _Candidates:
    """What one curve's choice is made from: numbers by rising N."""

    def __init__(
        self, rows: Sequence[Mapping[str, Any]], timed: pl.DataFrame, *, interleaved: bool
    ) -> None:
        import numpy as np

        self.rows = rows
        self.counts = np.array([row["workers"] for row in rows])
        self.walls_s = np.array([row["wall_s"] for row in rows])
        self.is_strong = rows[0]["scaling"] in {None, "strong"}
        # Where the work differs, wall times are compared for equal work.
        self.work = np.array([1.0 if self.is_strong else row["work"] for row in rows])
        arms = [timed.filter(timed["workers"] == count).sort("block") for count in self.counts]
        enough = min(arm.height for arm in arms) >= repeats_needed()
        self.resampled_s = (
            _medians(arms, interleaved=interleaved) if enough and len(arms) > 1 else None
        )

    def best(self, walls_s: Array, objective: Objective, limit_hours: float | None) -> Array:
        """Place of the best N of each row of wall times; -1 where none is within the budget."""
        import numpy as np

        rate = self.work / walls_s
        # The square of the rate over N is speedup x efficiency, but for a factor of the curve.
        score = rate**2 / self.counts if objective == "knee" else rate
        if limit_hours is not None:
            score = np.where(self.counts * walls_s <= 3600 * limit_hours, score, -np.inf)
        return np.where(np.isneginf(score.max(axis=-1)), -1, score.argmax(axis=-1))


def _chosen(
    candidates: _Candidates, objective: Objective, limit_hours: float | None
) -> dict[str, Any]:
    """Fields of a choice beyond its curve and objective."""
    import numpy as np

    fields: dict[str, Any] = {"worker_hours_limit": limit_hours}
    if limit_hours is not None and not candidates.is_strong:
        refusal = (
            "each N processed another amount of work, so none tells what the same work would "
            "cost at another N"
        )
        return fields | {"refusal": refusal}
    place = int(candidates.best(candidates.walls_s, objective, limit_hours))
    if place < 0:
        worker_hours = candidates.counts * candidates.walls_s / 3600
        least = int(worker_hours.argmin())
        refusal = (
            f"no measured N takes {limit_hours:g} worker-hours or less; the cheapest, "
            f"N = {candidates.counts[least]}, takes {worker_hours[least]:.3g}"
        )
        return fields | {"refusal": refusal}
    row = candidates.rows[place]
    same = ("workers", "repeats", "wall_s", "speedup", "efficiency", "baseline_workers", "scaling")
    ends = (f"{name}_{end}" for name in ("wall_s", "speedup") for end in ("low", "high"))
    fields |= {name: row[name] for name in (*same, *ends)}
    fields["worker_hours"] = row["workers"] * row["wall_s"] / 3600
    if candidates.resampled_s is None:
        return fields
    places = candidates.best(candidates.resampled_s, objective, limit_hours)
    shares = np.bincount(places[places >= 0], minlength=len(candidates.rows)) / len(places)
    fields["share_chosen"] = float(shares[place])
    shares[place] = 0.0
    if shares.any():
        fields["rival"] = int(candidates.counts[shares.argmax()])
    return fields


def _medians(arms: Sequence[pl.DataFrame], *, interleaved: bool) -> Array:
    """Median wall times of bootstrap resamples, shape (resamples, configurations)."""
    import numpy as np

    random = np.random.default_rng(0)
    walls_s = [arm["wall_s"].to_numpy() for arm in arms]
    blocks = [arm["block"].to_list() for arm in arms]
    count = resamples(max(len(own) for own in walls_s))
    if interleaved and all(own == blocks[0] for own in blocks):
        drawn = random.integers(len(blocks[0]), size=(count, len(blocks[0])))
        return np.column_stack([medians(own[drawn]) for own in walls_s])
    return np.column_stack(
        [medians(own[random.integers(len(own), size=(count, len(own)))]) for own in walls_s]
    )

"""Components of an iteration over ranks: how each scales, which limits, which N is worth it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import polars as pl

from pyscale.analysis.aggregate import baseline, by_workers
from pyscale.analysis.findings import Row
from pyscale.analysis.intervals import median_with_ends, ratio_interval_by_block, with_ends
from pyscale.analysis.schema import REAL, TEXT, WHOLE, columns, ends_of
from pyscale_stages.reconstruction import COMPONENTS

TOTAL = "total"
"""A whole iteration: its wall time."""
OBJECTIVE = "objective"
"""The value of the objective, which is timed after all iterations and is no part of them."""
EVERY = (TOTAL, *COMPONENTS, OBJECTIVE)
COMPUTED = ("gradient", "denoiser")
"""What one rank does too."""
BETWEEN_RANKS = ("communication", "gather", "barrier")
"""What one rank alone does not do, so that nothing can be so many times faster than there."""
WITH_WORK = (TOTAL, "denoiser")
"""Components whose work grows with the tiles' margins."""


def column(component: str) -> str:
    """Give what its columns begin with: the time of the whole is `wall_s`."""
    return "wall" if component == TOTAL else component


SCALING_SCHEMA = columns(
    (TEXT, "stage family problem"),
    (WHOLE, "size_px workers"),
    (TEXT, "component"),
    (WHOLE, "repeats"),
    (REAL, f"{ends_of('seconds')} mean_seconds share"),
    (WHOLE, "baseline_workers"),
    (REAL, ends_of("speedup", "efficiency")),
    (REAL, "normalised_efficiency loss_s work_multiplier"),
    (TEXT, "flags"),
)


def component_scaling(
    trials: pl.DataFrame, flagged: Callable[[pl.DataFrame, pl.DataFrame, Sequence[float]], str]
) -> pl.DataFrame:
    """Compare each component at each N with the fewest ranks that gave a result."""
    rows = [
        _row(own, entry, component, flagged)
        for own, entry in by_workers(trials)
        for component in EVERY
    ]
    return pl.DataFrame(rows, SCALING_SCHEMA, orient="row")


def _row(
    own: pl.DataFrame, entry: pl.DataFrame, component: str, flagged: Callable[..., str]
) -> Row:
    name = column(component)
    counted, base = own.filter("valid").sort("block"), baseline(entry).sort("block")
    times_s = counted[f"{name}_s"].to_list()
    row: Row = {
        **{key: own[key][0] for key in ("stage", "family", "problem", "size_px", "workers")},
        "component": component,
        "repeats": counted.height,
        "baseline_workers": base["workers"].min(),
        "work_multiplier": counted["work_multiplier"].max(),
        "flags": flagged(own, entry, times_s),
    }
    if counted.is_empty():
        return row
    mean_s, base_mean_s = (median(each[f"{name}_mean_s"].to_list()) for each in (counted, base))
    if component != OBJECTIVE:
        row["share"] = 1.0 if component == TOTAL else share_of(counted, component)
    return row | {
        **median_with_ends("seconds", times_s),
        "mean_seconds": mean_s,
        "loss_s": mean_s - base_mean_s * row["baseline_workers"] / row["workers"],
        **_speedup(counted, base, component),
    }


def share_of(trials: pl.DataFrame, component: str) -> float:
    """Share of a component in all iterations of all ranks and trials: such shares sum up."""
    spent_s = trials[f"{component}_share"] * trials["ranks_s"]
    return float(sum(spent_s.to_list()) / sum(trials["ranks_s"].to_list()))


def _speedup(own: pl.DataFrame, base: pl.DataFrame, component: str) -> dict[str, float | None]:
    """Speedup over the baseline and the efficiencies that follow; nothing where it has no sense."""
    workers, base_workers = int(own["workers"][0]), int(base["workers"][0])
    times_s, base_s = (each[f"{column(component)}_s"].to_list() for each in (own, base))
    alone = base_workers == 1 and component in BETWEEN_RANKS
    if alone or median(times_s) <= 0 or median(base_s) <= 0:
        return {}
    speedup = median(base_s) / median(times_s)
    interval = None
    # The baseline's speedup is 1 by definition, and of nothing a resample may have no quotient.
    if workers != base_workers and min(*times_s, *base_s) > 0:
        interval = ratio_interval_by_block(base, own, f"{column(component)}_s")
    found: dict[str, float | None] = with_ends("speedup", speedup, interval)
    for end in ("", "_low", "_high"):
        value = found[f"speedup{end}"]
        share = None if value is None else efficiency(value, workers, base_workers)
        found[f"efficiency{end}"] = share
    if component in WITH_WORK:
        work, base_work = (each["work_multiplier"].to_list()[0] for each in (own, base))
        share = efficiency(speedup, workers, base_workers)
        found["normalised_efficiency"] = normalised_efficiency(share, work, base_work)
    return found


def efficiency(speedup: float, workers: int, baseline: int) -> float:
    """Share of the ranks that is of use: `S * N0 / N`, of a speedup S over N0 ranks."""
    return speedup * baseline / workers


def normalised_efficiency(
    efficiency: float, work: float | None, work_at_baseline: float | None
) -> float | None:
    """Efficiency for the same work: times what is denoised, over what N0 ranks denoise."""
    if work is None or work_at_baseline is None:
        return None
    return efficiency * work / work_at_baseline


@dataclass(frozen=True)
class Knee:
    """How many ranks one image is worth, and the component that limits.

    Rows are of whole iterations. The knee is as `pyscale.analysis.advice.choices` describes it, and
    not by the work-normalised efficiency: margins that are denoised twice occupy a GPU all the
    same.
    """

    base: Row
    """With N0."""
    row: Row
    """With the N at the knee."""
    following: Row | None
    """With the next N that has a trial which counts; None where there is none, and more may still
    help."""
    limited: Row
    """`row`, or where that is N0, where nothing is lost yet, `following`."""
    limit: Row | None
    """The component that loses most there against ideal scaling, by `loss_s`; None where none
    loses."""
    limit_share: float | None
    """Its share of the loss of all components that lose."""
    margin_loss_s: float | None
    """What the denoiser loses there by the margins of tiles alone, as more pixels are denoised than
    with N0: more than all it loses where it was quicker besides. None where the numbers of pixels
    are not known."""


def knees(scaling: pl.DataFrame) -> tuple[Knee, ...]:
    """Find the knee of each entry of which a trial counts."""
    counted = scaling.filter(scaling["repeats"] > 0)
    return tuple(_knee(entry) for entry in counted.partition_by("stage", maintain_order=True))


def _knee(entry: pl.DataFrame) -> Knee:
    totals = entry.filter(entry["component"] == TOTAL).to_dicts()
    row = max(totals, key=lambda row: row["speedup"] * row["efficiency"])
    following = next((one for one in totals if one["workers"] > row["workers"]), None)
    limited = following if row is totals[0] and following is not None else row
    parts = entry.filter(
        pl.col("workers") == limited["workers"],
        ~pl.col("component").is_in([TOTAL, OBJECTIVE]),
        pl.col("loss_s") > 0,
    ).sort("loss_s", descending=True, maintain_order=True)
    limit = None if parts.is_empty() else parts.row(0, named=True)
    return Knee(
        base=totals[0],
        row=row,
        following=following,
        limited=limited,
        limit=limit,
        limit_share=None if limit is None else limit["loss_s"] / parts["loss_s"].sum(),
        margin_loss_s=_margin_loss_s(entry, limited["workers"]),
    )


def _margin_loss_s(entry: pl.DataFrame, workers: int) -> float | None:
    """Cost of more pixels alone for the denoiser, over the baseline's share of its time."""
    denoiser = entry.filter(entry["component"] == "denoiser").to_dicts()
    base, here = denoiser[0], next(row for row in denoiser if row["workers"] == workers)
    if None in (here["work_multiplier"], base["work_multiplier"]):
        return None
    ideal_s = base["mean_seconds"] * base["workers"] / workers
    return float(ideal_s * (here["work_multiplier"] / base["work_multiplier"] - 1))

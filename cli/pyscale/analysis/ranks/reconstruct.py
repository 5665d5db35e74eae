"""Reconstruction of one image over ranks: trials, configurations, and which component scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import ClassVar, Literal

import polars as pl

from pyscale.analysis.aggregate import (
    baseline,
    by_workers,
    configuration,
    first_told,
    folded_schema,
    of_middle,
    trials_of_ranks,
)
from pyscale.analysis.declared import FLAG, REAL, TEXT, WHOLE, columns, ends_of
from pyscale.analysis.doubts import flags_of_any
from pyscale.analysis.findings import PointFindings, Row
from pyscale.analysis.flags import SHARES, raised
from pyscale.analysis.intervals import (
    following,
    median_with_ends,
    ratio_interval_by_block,
    with_ends,
)
from pyscale_stages.reconstruction import (
    COMPONENTS,
    DENOISER_TOLERANCE,
    GRADIENT_TOLERANCE,
    Reconstruction,
)

QUALITY = ("psnr_db", "psnr_interior_db", "psnr_border_db")
DEVIATIONS = ("deviation_interior", "deviation_border")
AGREES, DIFFERS, NOT_COMPARED = "agrees", "differs", "not compared"
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


TIMES_S = tuple(f"{column(name)}_s" for name in EVERY)


DRIFTS = {name: f"{name.removesuffix('_db')}_drift_db" for name in QUALITY}
"""How much more a quality is than with the fewest ranks."""

POINT_SCHEMA = (
    columns(
        (TEXT, "stage family problem"),
        (WHOLE, "size_px workers baseline_workers repeats failed"),
        (TEXT, "error"),
        (FLAG, "exhausted"),
        (REAL, ends_of("wall_s")),
        (REAL, "collectives_share barrier_share rest_share balance tiles_balance"),
    )
    | folded_schema(Reconstruction)
    | columns((REAL, " ".join((*DRIFTS.values(), *DEVIATIONS))), (TEXT, "gate device flags"))
)


@dataclass(frozen=True)
class ReconstructFindings(PointFindings):
    """Findings of reconstructing over ranks."""

    kind: ClassVar[str] = "reconstruct"
    work: ClassVar[Literal["own", "shared"]] = "shared"

    scaling: pl.DataFrame
    """One row a component of an entry at one N."""
    knees: tuple[Knee, ...]
    """One for each entry of which a trial counts, in the order of the suite."""

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Tables by their keys in `pyscale.report.csv`."""
        return {"reconstruct": self.scaling, "reconstruct_points": self.points}


def reconstruct_findings(reconstruction: pl.DataFrame) -> ReconstructFindings | None:
    """Find what reconstructing over ranks tells; None where nothing was reconstructed."""
    if reconstruction.is_empty():
        return None
    trials = reconstruct_trials(reconstruction)
    scaling = component_scaling(trials)
    return ReconstructFindings(
        points=reconstruct_points(trials),
        scaling=scaling,
        knees=knees(scaling),
    )


def reconstruct_trials(reconstruction: pl.DataFrame) -> pl.DataFrame:
    """Take the ranks and iterations of each trial together.

    A component's `_s` is the median over iterations of the time of the rank where it is longest,
    `_mean_s` of the mean over ranks, `_share` the sum over all iterations of all ranks as a share
    of `ranks_s`.
    """
    # There is a row for each iteration; what is told of a rank stands in all of them.
    ranks = reconstruction.unique(["trial", "rank"], keep="first", maintain_order=True)
    table = trials_of_ranks(
        ranks,
        Reconstruction,
        pl.col("problem", "size_px").first(),
        # The same on every rank that tells it.
        *(pl.col(name).drop_nulls().first() for name in ("device", *DEVIATIONS)),
        measured="iteration",
    )
    complete = reconstruction.join(table.filter("complete").select("trial"), on="trial", how="semi")
    for measured in (_shares(complete), _times(complete), _balance(complete)):
        table = table.join(measured, on="trial", how="left", maintain_order="left")
    return table


def _shares(complete: pl.DataFrame) -> pl.DataFrame:
    """Sums over all iterations of all ranks: these, unlike medians, add up to the whole."""
    whole = pl.col("wall_s").sum()
    shares = [(pl.col(f"{name}_s").sum() / whole).alias(f"{name}_share") for name in COMPONENTS]
    return complete.group_by("trial").agg(whole.alias("ranks_s"), *shares)


def _times(complete: pl.DataFrame) -> pl.DataFrame:
    """Give medians over iterations of the longest and of the mean time of the ranks."""
    means = {f"{name.removesuffix('_s')}_mean_s": pl.col(name).mean() for name in TIMES_S}
    return (
        complete.group_by("trial", "iteration")
        .agg(pl.col(TIMES_S).max(), **means)
        .group_by("trial")
        .agg(pl.col(*TIMES_S, *means).median())
    )


def _balance(complete: pl.DataFrame) -> pl.DataFrame:
    """Balance of the ranks, and the share of their time in no component."""
    inside = pl.sum_horizontal(f"{name}_s" for name in COMPONENTS)
    rest = (pl.col("wall_s") - inside).abs() / pl.col("wall_s")
    busy_s = pl.col("gradient_s") + pl.col("denoiser_s")
    return (
        complete.group_by("trial", "rank")
        .agg(
            rest.median().alias("rest_share"),
            busy_s.median().alias("balance"),
            pl.col("tiles_here").first().alias("tiles_balance"),
        )
        .group_by("trial")
        .agg(
            pl.col("rest_share").max(),
            # Ranks that computed nothing have a balance of 0 over 0.
            (
                pl.col("balance", "tiles_balance").mean() / pl.col("balance", "tiles_balance").max()
            ).fill_nan(None),
        )
    )


def reconstruct_points(trials: pl.DataFrame) -> pl.DataFrame:
    """Sum up the trials of each entry at each N."""
    rows = [
        configuration(own, Reconstruction) | _beyond(own, entry)
        for own, entry in by_workers(trials)
    ]
    return pl.DataFrame(rows, POINT_SCHEMA, orient="row")


def _beyond(trials: pl.DataFrame, entry: pl.DataFrame) -> Row:
    """What a configuration has beyond what its record declares."""
    counted, base = trials.filter("valid"), baseline(entry)
    times_s = counted["wall_s"].to_list()
    facts = {
        **{name: trials[name][0] for name in ("problem", "size_px")},
        **{name: first_told(trials[name]) for name in ("device", "tiles_balance")},
        "baseline_workers": base["workers"].min(),
        "flags": _flags(trials, entry, times_s),
    }
    if counted.is_empty():
        return facts
    return {
        **facts,
        **median_with_ends("wall_s", times_s),
        "collectives_share": share_of(counted, "communication") + share_of(counted, "gather"),
        "barrier_share": share_of(counted, "barrier"),
        "rest_share": counted["rest_share"].max(),
        "balance": of_middle(counted, "balance", by="wall_s"),
        **{drift: _drift(counted, base, name) for name, drift in DRIFTS.items()},
        **{name: counted[name].max() for name in DEVIATIONS},
        "gate": _gate(counted),
    }


def _drift(counted: pl.DataFrame, base: pl.DataFrame, name: str) -> float | None:
    """How much more the median over trials is than with the fewest ranks."""
    here, there = (each.select(pl.col(name).median()).item() for each in (counted, base))
    return None if here is None or there is None else here - there


def _gate(trials: pl.DataFrame) -> str | None:
    """Judge one configuration by its worst trial."""
    if trials.is_empty() or trials["workers"][0] == 1:
        return None
    verdicts = {_of_trial(trial) for trial in trials.iter_rows(named=True)}
    return next(each for each in (DIFFERS, NOT_COMPARED, AGREES) if each in verdicts)


def _of_trial(trial: Row) -> str:
    gradient, interior = trial["gate_gradient"], trial["gate_interior"]
    # Asked so that what is no number at all is no agreement.
    if gradient is not None and not gradient <= GRADIENT_TOLERANCE:
        return DIFFERS
    if interior is not None and not interior <= DENOISER_TOLERANCE:
        return DIFFERS
    has_no_interior = trial["gate_interior_px"] == 0
    is_whole = gradient is not None and (interior is not None or has_no_interior)
    return AGREES if is_whole else NOT_COMPARED


def _flags(trials: pl.DataFrame, entry: pl.DataFrame, times_s: Sequence[float]) -> str:
    counted, base = trials.filter("valid"), baseline(entry)
    gate, balance = _gate(counted), of_middle(counted, "balance", by="wall_s")
    work, base_work = counted["work_multiplier"].max(), base["work_multiplier"].max()
    doubts = {
        **flags_of_any(trials, times_s, base),
        "exhausted": bool(trials["exhausted"].any()),
        "baseline-moved": not counted.is_empty() and min(entry["workers"]) < base["workers"][0],
        "other-work": None not in (work, base_work) and work != base_work,
        "uneven": balance is not None and balance < SHARES["uneven"],
        "rest": bool((counted["rest_share"] > SHARES["rest"]).any()),
        "disagrees": gate == DIFFERS,
        "not-compared": gate == NOT_COMPARED,
    }
    return ",".join(raised(doubts))


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


def component_scaling(trials: pl.DataFrame) -> pl.DataFrame:
    """Compare each component at each N with the fewest ranks that gave a result."""
    rows = [_row(own, entry, component) for own, entry in by_workers(trials) for component in EVERY]
    return pl.DataFrame(rows, SCALING_SCHEMA, orient="row")


def _row(own: pl.DataFrame, entry: pl.DataFrame, component: str) -> Row:
    name = column(component)
    counted, base = own.filter("valid").sort("block"), baseline(entry).sort("block")
    times_s = counted[f"{name}_s"].to_list()
    row: Row = {
        **{key: own[key][0] for key in ("stage", "family", "problem", "size_px", "workers")},
        "component": component,
        "repeats": counted.height,
        "baseline_workers": base["workers"].min(),
        "work_multiplier": counted["work_multiplier"].max(),
        "flags": _flags(own, entry, times_s),
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
    found: dict[str, float | None] = {
        **with_ends("speedup", speedup, interval),
        **following("efficiency", lambda own: own * base_workers / workers, speedup, interval),
    }
    work, base_work = (each["work_multiplier"].to_list()[0] for each in (own, base))
    # For the same work: times what is denoised, over what N0 ranks denoise.
    if component in WITH_WORK and None not in (work, base_work):
        found["normalised_efficiency"] = speedup * base_workers / workers * work / base_work
    return found


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

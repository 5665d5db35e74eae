"""Reconstruction of one image over ranks: over trials and over configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from pyscale.analysis.doubts import flags_of_any
from pyscale.analysis.findings import PointFindings, Row
from pyscale.analysis.flags import MOST_REST, UNEVEN, raised
from pyscale.analysis.intervals import median_with_ends
from pyscale.analysis.ranks.components import (
    EVERY,
    Knee,
    column,
    component_scaling,
    knees,
    share_of,
)
from pyscale.analysis.schema import FLAG, REAL, TEXT, WHOLE, columns, ends_of
from pyscale_stages.reconstruction import (
    COMPONENTS,
    DENOISER_TOLERANCE,
    GRADIENT_TOLERANCE,
    Reconstruction,
)

QUALITY = ("psnr_db", "psnr_interior_db", "psnr_border_db")
DEVIATIONS = ("deviation_interior", "deviation_border")
AGREES, DIFFERS, NOT_COMPARED = "agrees", "differs", "not compared"
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


def reconstruct_findings(
    reconstruction: pl.DataFrame, *, count_retried: bool = False
) -> ReconstructFindings | None:
    """Find what reconstructing over ranks tells; None where nothing was reconstructed."""
    if reconstruction.is_empty():
        return None
    trials = reconstruct_trials(reconstruction, count_retried=count_retried)
    scaling = component_scaling(trials, flagged=_flags)
    return ReconstructFindings(
        points=reconstruct_points(trials),
        scaling=scaling,
        knees=knees(scaling),
    )


def reconstruct_trials(
    reconstruction: pl.DataFrame, *, count_retried: bool = False
) -> pl.DataFrame:
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
        count_retried=count_retried,
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
        "uneven": balance is not None and balance < UNEVEN,
        "rest": bool((counted["rest_share"] > MOST_REST).any()),
        "disagrees": gate == DIFFERS,
        "not-compared": gate == NOT_COMPARED,
    }
    return ",".join(raised(doubts))

"""How each component of an iteration scales over ranks, against the fewest that gave a result."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from pyscale.analysis.intervals import Interval, median_interval, ratio_interval_by_block
from pyscale.analysis.reconstruct.columns import scaling_schema
from pyscale.analysis.reconstruct.components import BETWEEN_RANKS, EVERY, OBJECTIVE, TOTAL, column
from pyscale.analysis.reconstruct.curve import baseline, by_workers, share_of
from pyscale.analysis.reconstruct.flags import flag_codes
from pyscale.analysis.reconstruct.formulas import efficiency, normalised_efficiency

if TYPE_CHECKING:
    import polars as pl

ONE = ("stage", "family", "problem", "size_px")
WITH_WORK = (TOTAL, "denoiser")
"""Components whose work grows with the tiles' margins."""


def component_scaling(
    trials: pl.DataFrame, *, components: Sequence[str] = EVERY, seed: int = 0
) -> pl.DataFrame:
    """Compare each component at each N with the fewest ranks that gave a result.

    Parameters
    ----------
    trials : polars.DataFrame
        As `pyscale.analysis.reconstruct.columns.trial_schema` describes them, with times and
        shares of the components.
    components : sequence of str
        Those to look at, in this order.
    seed : int
        Of the resampling of trials for intervals of speedups.

    Returns
    -------
    polars.DataFrame
        Columns of `pyscale.analysis.reconstruct.columns.scaling_schema`; entries in the order of
        `trials`, each by rising N.
    """
    import polars as pl

    rows = [
        _row(own, entry, component, seed)
        for entry in trials.partition_by("stage", maintain_order=True)
        for own in by_workers(entry)
        for component in components
    ]
    return pl.DataFrame(rows, scaling_schema(), orient="row")


def _row(own: pl.DataFrame, entry: pl.DataFrame, component: str, seed: int) -> dict[str, Any]:
    name = column(component)
    counted, base = own.filter("valid").sort("block"), baseline(entry).sort("block")
    times_s = counted[f"{name}_s"].to_list()
    row = {key: own[key][0] for key in ONE} | {
        "workers": own["workers"][0],
        "component": component,
        "repeats": counted.height,
        "baseline_workers": base["workers"].min(),
        "work_multiplier": counted["work_multiplier"].max(),
        "flags": ",".join(flag_codes(own, entry, times_s)),
    }
    if counted.is_empty():
        return row
    mean_s, base_mean_s = (median(each[f"{name}_mean_s"].to_list()) for each in (counted, base))
    return row | {
        "seconds": median(times_s),
        **_ends("seconds", median_interval(times_s)),
        "mean_seconds": mean_s,
        "share": _share(counted, component),
        "loss_s": mean_s - base_mean_s * row["baseline_workers"] / row["workers"],
        **_speedup(counted, base, component, seed),
    }


def _share(counted: pl.DataFrame, component: str) -> float | None:
    if component == OBJECTIVE:
        return None
    return 1.0 if component == TOTAL else share_of(counted, component)


def _speedup(
    own: pl.DataFrame, base: pl.DataFrame, component: str, seed: int
) -> dict[str, float | None]:
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
        interval = ratio_interval_by_block(base, own, f"{column(component)}_s", seed=seed)
    found: dict[str, float | None] = {"speedup": speedup, **_ends("speedup", interval)}
    for end in ("", "_low", "_high"):
        value = found[f"speedup{end}"]
        share = None if value is None else efficiency(value, workers, base_workers)
        found[f"efficiency{end}"] = share
    if component in WITH_WORK:
        work, base_work = (each["work_multiplier"].to_list()[0] for each in (own, base))
        share = efficiency(speedup, workers, base_workers)
        found["normalised_efficiency"] = normalised_efficiency(share, work, base_work)
    return found


def _ends(name: str, interval: Interval | None) -> dict[str, float | None]:
    low, high = (interval.low, interval.high) if interval else (None, None)
    return {f"{name}_low": low, f"{name}_high": high}

"""One row a configuration of reconstruction: its iteration, memory, quality, and how even it is."""

from __future__ import annotations

from typing import Any

import polars as pl

from pyscale.analysis.aggregate import first_told, over_trials
from pyscale.analysis.intervals import median_interval, with_ends
from pyscale.analysis.reconstruct.columns import (
    DEVIATIONS,
    QUALITY,
    largest_schema,
    point_schema,
)
from pyscale.analysis.reconstruct.flags import flag_codes, gate_verdict
from pyscale.analysis.reconstruct.trials import baseline, by_workers, of_middle, share_of
from pyscale_stages.reconstruction import Reconstruction


def reconstruct_points(trials: pl.DataFrame) -> pl.DataFrame:
    """Sum up the trials of each entry at each N."""
    rows = [
        _header(own, entry) | _measured(own.filter("valid"), baseline(entry))
        for entry in trials.partition_by("stage", maintain_order=True)
        for own in by_workers(entry)
    ]
    return pl.DataFrame(rows, point_schema(), orient="row")


def _header(own: pl.DataFrame, entry: pl.DataFrame) -> dict[str, Any]:
    """Key of a configuration, and facts that need no trial."""
    times_s = own.filter("valid")["wall_s"].to_list()
    return {
        **{name: own[name][0] for name in ("stage", "family", "problem", "size_px", "workers")},
        "baseline_workers": baseline(entry)["workers"].min(),
        "repeats": len(times_s),
        "failed": int((~own["complete"]).sum()),
        "error": first_told(own["error"]),
        "exhausted": bool(own["exhausted"].any()),
        **over_trials(own, Reconstruction),
        **{name: first_told(own[name]) for name in ("device", "tiles_balance")},
        "flags": ",".join(flag_codes(own, entry, times_s)),
    }


def _measured(counted: pl.DataFrame, base: pl.DataFrame) -> dict[str, Any]:
    """Measurements of the trials that count."""
    if counted.is_empty():
        return {}
    interval = median_interval(counted["wall_s"].to_list())
    wall_s: Any = counted["wall_s"].median()
    return {
        **with_ends("wall_s", wall_s, interval),
        "collectives_share": share_of(counted, "communication") + share_of(counted, "gather"),
        "barrier_share": share_of(counted, "barrier"),
        "rest_share": counted["rest_share"].max(),
        "balance": of_middle(counted, "balance"),
        **{f"{name.removesuffix('_db')}_drift_db": _drift(counted, base, name) for name in QUALITY},
        **{name: counted[name].max() for name in DEVIATIONS},
        "gate": gate_verdict(counted),
    }


def _drift(counted: pl.DataFrame, base: pl.DataFrame, name: str) -> float | None:
    """How much more the median over trials is than with the fewest ranks."""
    here: Any = counted[name].median()
    there: Any = base[name].median()
    return None if here is None or there is None else here - there


def largest_sizes(trials: pl.DataFrame) -> pl.DataFrame:
    """Find the largest size that ran and the smallest of which memory ran out, for each N.

    A trial that ran when tried again ran: it counts here.
    """
    size = pl.col("size_px")
    families = trials.select("family", "problem").unique(maintain_order=True)
    found = (
        trials.group_by("family", "problem", "workers")
        .agg(
            size.filter("complete").max().alias("largest_px"),
            size.filter("exhausted").min().alias("exhausted_px"),
        )
        .sort("workers")
    )
    return families.join(
        found, on=["family", "problem"], how="left", maintain_order="left_right", nulls_equal=True
    ).select(pl.col(name).cast(kind) for name, kind in largest_schema().items())

"""What of a report is about N, where a grid was measured: its points have one N each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyscale.analysis.losses import GROUP
from pyscale.report.results import Results

if TYPE_CHECKING:
    import polars as pl


def about_workers(results: Results) -> Results:
    """Leave out the points of grids that were measured at one N: they have no speedup over N.

    Entries without a grid stay, whatever N they have, and so do points at several N.
    """
    import polars as pl

    if not results.grids:
        return results
    points = pl.concat([grid.points.select("suite", "stage") for grid in results.grids]).unique()
    at_one_n = (
        results.configurations.group_by(GROUP, maintain_order=True)
        .agg(counts=pl.col("workers").n_unique())
        .filter(pl.col("counts") == 1)
        .join(points, on=["suite", "stage"], how="semi", nulls_equal=True)
    )

    def other(table: pl.DataFrame) -> pl.DataFrame:
        return table.join(at_one_n, on=GROUP, how="anti", nulls_equal=True, maintain_order="left")

    trials = other(results.trials)
    own = other(results.configurations).select(GROUP).unique().rows()
    timeline = results.timeline
    return replace(
        results,
        configurations=other(results.configurations),
        trials=trials,
        losses=other(results.losses),
        fits=[one for one in results.fits if tuple(one.curve.values()) in own],
        drifts=[one for one in results.drifts if tuple(one.curve.values()) in own],
        limits=[one for one in results.limits if tuple(one.curve.values()) in own],
        choices=[one for one in results.choices if tuple(one.curve.values()) in own],
        requests=[one for one in results.requests if tuple(one.curve.values()) in own],
        timeline=None
        if timeline is None
        else timeline.join(trials.select("trial"), on="trial", how="semi", maintain_order="left"),
    )

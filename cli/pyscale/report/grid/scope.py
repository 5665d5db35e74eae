"""The part of a report about N: no points of grids at one N, and no entries reported apart."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from pyscale.analysis.grid.findings import GridFindings
from pyscale.analysis.losses import GROUP
from pyscale.report.results import Results


def about_workers(results: Results) -> Results:
    """Leave out entries without a speedup over N: points of grids at one N, and `apart`.

    Entries without a grid stay, whatever N they have, and so do points at several N. N workers
    that test a machine or load patches share no work: each does all of it. Ranks that reconstruct
    an image share it in every iteration, which is reported by component.
    """
    grids = results.every(GridFindings)
    if not grids and not results.apart:
        return results
    out = pl.concat([_at_one_n(results), _apart(results)]).unique()

    def other(table: pl.DataFrame) -> pl.DataFrame:
        return table.join(out, on=GROUP, how="anti", nulls_equal=True, maintain_order="left")

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


def without_apart(configurations: pl.DataFrame, results: Results) -> pl.DataFrame:
    """Leave out `apart`: sentences on outputs and wall times do not concern them."""
    return configurations.filter(~pl.col("stage").is_in(list(results.apart)))


def _at_one_n(results: Results) -> pl.DataFrame:
    """Curves that are points of a grid at one N."""
    curves = results.configurations.group_by(GROUP, maintain_order=True).agg(
        counts=pl.col("workers").n_unique()
    )
    grids = results.every(GridFindings)
    if not grids:
        return curves.select(GROUP).clear()
    points = pl.concat([grid.points.select("suite", "stage") for grid in grids]).unique()
    return (
        curves.filter(pl.col("counts") == 1)
        .join(points, on=["suite", "stage"], how="semi", nulls_equal=True)
        .select(GROUP)
    )


def _apart(results: Results) -> pl.DataFrame:
    """Curves of entries that are reported apart."""
    own = pl.col("stage").is_in(list(results.apart))
    return results.configurations.filter(own).select(GROUP).unique()

"""Time of a call in each timed trial: the samples of medians and intervals."""

from __future__ import annotations

from typing import Literal, get_args

import polars as pl

from pyscale.analysis.schema import REAL, TEXT, WHOLE, columns

Measure = Literal["steady", "first", "start", "fresh", "published"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
COMPARED: tuple[Measure, ...] = ("steady", "first", "fresh", "published")
"""Measures of a whole call, whose ratios between devices mean something."""

BUILD = "build"
"""Part of the table of calls that is no part of a call: building the model before it."""


def samples(calls: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """Time of a call in each timed trial, by each measure that all its workers have.

    `steady` is the median over the calls of a process after its first, `first` the first one,
    `start` the building of the model that the first one paid for, `fresh` both together.
    `published` is the mean over the calls that built their model of building and call together,
    where a process has two or more of them: the protocol of published sweeps. Where several workers
    ran, their time is the harmonic mean, so that `workers / time` is the calls per second of all
    together.
    """
    whole = built(calls).join(
        trials.filter("valid").select("trial"), on="trial", how="semi", maintain_order="left"
    )
    wall_s, first = pl.col("wall_s"), pl.col("call") == 0
    with_build = pl.col("build_s").is_not_null()
    each = whole.group_by("stage", "workers", "block", "trial", "task", maintain_order=True).agg(
        steady=wall_s.filter(~first).median(),
        first=wall_s.filter(first).first(),
        start=pl.col("build_s").filter(first).first(),
        fresh=(pl.col("build_s") + wall_s).filter(first).first(),
        published=pl.when(with_build.sum() > 1).then((pl.col("build_s") + wall_s).mean()),
    )
    long = each.unpivot(
        MEASURES,
        index=["stage", "workers", "block", "trial", "task"],
        variable_name="measure",
        value_name="time_s",
    )
    time_s = pl.col("time_s")
    return (
        long.group_by("stage", "workers", "block", "trial", "measure", maintain_order=True)
        .agg(time_s=pl.when(time_s.null_count() == 0).then(time_s.len() / (1 / time_s).sum()))
        .drop_nulls("time_s")
        .select(list(SAMPLE_SCHEMA))
    )


def built(calls: pl.DataFrame) -> pl.DataFrame:
    """One row a call, without its parts: the columns of `calls`, and `build_s` (null if none)."""
    building = calls.filter(pl.col("part") == BUILD)
    return calls.filter(pl.col("part").is_null()).join(
        building.select("trial", "task", "call", build_s="wall_s"),
        on=["trial", "task", "call"],
        how="left",
        maintain_order="left",
    )


SAMPLE_SCHEMA = columns(
    (TEXT, "stage"),
    (WHOLE, "workers block"),
    (TEXT, "trial measure"),
    (REAL, "time_s"),
)

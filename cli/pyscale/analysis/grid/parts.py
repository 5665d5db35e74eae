"""Calls of a grid: their time in each trial, their parts, and what a device does not speed up."""

from __future__ import annotations

from typing import Literal, get_args

import polars as pl

from pyscale.analysis.declared import REAL, TEXT, WHOLE, columns

Measure = Literal["steady", "first", "start", "published"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
COMPARED: tuple[Measure, ...] = ("steady", "first", "published")
"""Measures of a whole call, whose ratios between devices mean something."""

BUILD = "build"
"""Part of the table of calls that is no part of a call: building the model before it."""


def samples(calls: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """Time of a call in each timed trial, by each measure that all its workers have.

    `steady` is the median over the calls of a process after its first, `first` the first one,
    `start` the building of the model that the first one paid for.
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


UNATTRIBUTED = "unattributed"
"""What of a call no part covers."""
UNAIDED_BELOW = 1.2
"""A part is sped up where its base takes this many times as long, or more. Times of one part
scatter by a few per cent between trials, so that a part which is as fast on both stays below; and
one that gains less than a fifth would not raise the ratio if all else were as it is."""


def call_parts(calls: pl.DataFrame, points: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """Take the calls of every point apart: steady calls or, where it has none, first ones.

    A part is the median over the calls of a process, then over the workers and timed trials, 0
    where a call does not have it.
    """
    one = ["trial", "task", "call"]
    counted = calls.join(trials.filter("valid").select("trial"), on="trial", how="semi")
    counted = counted.filter(pl.col("stage").is_in(points["stage"].unique().to_list()))
    # Where a stage has steady calls the first ones are left out.
    steady = (pl.col("call") > 0).any().over("stage", "workers")
    counted = counted.filter((pl.col("call") > 0) | ~steady)
    named = counted.filter(pl.col("part").is_not_null() & (pl.col("part") != BUILD))
    order = [*named["part"].unique(maintain_order=True), UNATTRIBUTED]
    if named.is_empty():
        return pl.DataFrame(schema=PART_SCHEMA)
    wide = (
        built(counted)
        .select("stage", "workers", *one, whole_s="wall_s")
        .join(named.pivot("part", index=one, values="wall_s"), on=one, how="inner")
        .with_columns(pl.col(order[:-1]).fill_null(0.0))
        .with_columns((pl.col("whole_s") - pl.sum_horizontal(order[:-1])).alias(UNATTRIBUTED))
    )
    each = wide.group_by("stage", "workers", "trial", "task").agg(pl.col(order).median())
    medians = each.group_by("stage", "workers").agg(pl.col(order).median())
    long = medians.unpivot(
        order, index=["stage", "workers"], variable_name="part", value_name="part_s"
    ).with_columns(
        share=pl.col("part_s") / pl.col("part_s").sum().over("stage", "workers"),
        _place=pl.col("part").replace_strict(order, range(len(order)), return_dtype=pl.Int64),
    )
    there = long.select("workers", "part", base_stage="stage", base_s="part_s")
    return (
        points.with_row_index("_point")
        .join(long, on=["stage", "workers"], how="inner")
        .join(there, on=["base_stage", "workers", "part"], how="left")
        # Nothing over nothing is no ratio.
        .with_columns(
            part_ratio=pl.when(pl.col("part_s") > 0).then(pl.col("base_s") / pl.col("part_s"))
        )
        .sort("_point", "_place")
        .select(list(PART_SCHEMA))
    )


def unaided(parts: pl.DataFrame) -> pl.DataFrame:
    """Find at each point what a value of versus does not speed up, and the bound that this sets.

    Parts whose ratio to the base is below `UNAIDED_BELOW` are not sped up; those that the base does
    not have, such as a transfer, are among them. However fast all else became, a call would take as
    long as they do, so that the ratio stays below the base's call over them (Amdahl 1967, AFIPS
    30:483, with the base's time as the whole).
    """
    slow = pl.col("part_ratio") < UNAIDED_BELOW
    longest_first = pl.col("part").sort_by("part_s", descending=True)
    unaided_s = pl.col("part_s").filter(slow).sum()
    base_s = pl.col("base_s").sum()
    return (
        parts.drop_nulls("base_s")
        .group_by(
            *("suite", "family", "stage", "series", "value", "base", "workers"),
            *("pixels", "megapixels", "length_px"),
            maintain_order=True,
        )
        .agg(
            parts=longest_first.filter(slow.sort_by("part_s", descending=True)),
            unaided_s=unaided_s,
            share=pl.col("share").filter(slow).sum(),
            call_s=pl.col("part_s").sum(),
            base_call_s=base_s,
            bound=pl.when(unaided_s > 0).then(base_s / unaided_s),
        )
    )


PART_SCHEMA = columns(
    (TEXT, "suite family stage series value base"),
    (WHOLE, "workers pixels"),
    (REAL, "megapixels length_px"),
    (TEXT, "part"),
    (REAL, "part_s share base_s part_ratio"),
)

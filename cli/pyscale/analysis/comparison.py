"""Configurations that are faster or slower in one set of trials than in another."""

from __future__ import annotations

from typing import Any

import polars as pl

from pyscale.analysis.align import align, by_labels
from pyscale.analysis.judging import MARGIN, OTHER_WORK, Arms
from pyscale.analysis.ranks.loader import loader_trials
from pyscale.analysis.ranks.reconstruct import reconstruct_trials
from pyscale.analysis.scaling import configurations
from pyscale.analysis.schema import FLAG, REAL, TEXT, TEXTS, WHOLE, columns

KEY = ("stage", "device", "workers")
"""Columns that name a configuration in both runs. The suite does not: its name changes no time,
and a table of wall times is named after its file."""


def comparison(
    base: pl.DataFrame,
    new: pl.DataFrame,
    *,
    interleaved: bool = True,
    paired: bool = False,
    at_least: float = MARGIN,
) -> pl.DataFrame:
    """Compare two tables of trials, as `compared` does, whose configurations nobody summarised."""
    tables = (configurations(trials, interleaved=interleaved) for trials in (base, new))
    return compared(base, new, *tables, paired=paired, at_least=at_least)


def compared(
    base: pl.DataFrame,
    new: pl.DataFrame,
    base_table: pl.DataFrame,
    new_table: pl.DataFrame,
    *,
    paired: bool = False,
    at_least: float = MARGIN,
) -> pl.DataFrame:
    """Compare two tables of trials, configuration by configuration of either table.

    `paired` is whether equal values of `block` in both are one block, in which both were timed in
    random order; trials of blocks that only one side timed are left out. `verdict` is null where
    only one table has the configuration, and so are the columns of the other; see `judge`.
    """
    sides = [by_labels(table.select(*KEY, *_OF_A_SIDE), KEY) for table in (base_table, new_table)]
    unlike = set(other_work(base, new).select("stage", "workers").iter_rows())
    both = [key for key in sides[0] if key in sides[1]]
    # What differs is told by stage and N, whatever the device.
    other = {key: OTHER_WORK for key in both if (key[0], key[2]) in unlike}
    arms = _arms(base, new, paired=paired)
    rows = align(
        KEY,
        sides,
        {key: arms.get(key, ([], [])) for key in both if key not in other},
        unlike=other,
        paired=paired,
        at_least=at_least,
    )
    return pl.DataFrame(rows, schema=_SCHEMA)


def rank_times(loading: pl.DataFrame, reconstruction: pl.DataFrame) -> pl.DataFrame:
    """Give what counts of each trial of ranks as `wall_s`, and the size that its `work` is of.

    It is the time of a patch, of all ranks in step, or of an iteration of a reconstruction.
    """
    schema = columns((TEXT, "trial"), (REAL, "wall_s work"))
    found = [
        trials(table).filter("valid").select("trial", wall_s=time_s, work=size)
        for table, trials, time_s, size in (
            (loading, loader_trials, 1 / pl.col("patches_per_s"), pl.col("patch_px")),
            (reconstruction, reconstruct_trials, pl.col("wall_s"), pl.col("size_px")),
        )
        if not table.is_empty()
    ]
    kept = [pl.col(name).cast(kind) for name, kind in schema.items()]
    return pl.concat([pl.DataFrame(schema=schema), *(table.select(kept) for table in found)])


def other_work(base: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Find the N where the median `work` of base and of new, `work_right`, is known to differ."""
    one = ["stage", "workers"]
    done, done_new = (
        side.filter("valid").group_by(one).agg(pl.col("work").median()) for side in (base, new)
    )
    return done.join(done_new, on=one).filter(pl.col("work") != pl.col("work_right")).sort(one)


_OF_A_SIDE = ("repeats", "wall_s", "flags", "invalid", "quality")


def _arms(base: pl.DataFrame, new: pl.DataFrame, *, paired: bool) -> dict[tuple[Any, ...], Arms]:
    """Wall times of each configuration; paired ones of the blocks that both timed, in one order."""
    timed = [trials.filter("valid") for trials in (base, new)]
    if paired:
        one = [*KEY, "block"]
        # Tables of wall times have no device.
        both = zip(timed, timed[::-1], strict=True)
        timed = [a.join(b, on=one, how="semi", nulls_equal=True).sort(one) for a, b in both]
    walls = [{key: own["wall_s"].to_list() for key, own in t.group_by(KEY)} for t in timed]
    return {key: (walls[0].get(key, []), walls[1].get(key, [])) for key in walls[0] | walls[1]}


_SCHEMA = columns(
    (TEXT, "stage device"),
    (WHOLE, "workers base_repeats new_repeats"),
    (REAL, "base_wall_s new_wall_s ratio ratio_low ratio_high p_adjusted p_beyond"),
    (TEXT, "verdict reason"),
    (TEXTS, "base_flags new_flags"),
    (FLAG, "base_invalid new_invalid"),
    (TEXT, "base_quality new_quality"),
)

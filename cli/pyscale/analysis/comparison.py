"""Wall times of several sets of trials: verdicts on two of them, and all beside each other."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import polars as pl

from pyscale.analysis.align import Beside, Pairs, Row, align, by_labels, speedups
from pyscale.analysis.declared import FLAG, REAL, TEXT, TEXTS, WHOLE, columns
from pyscale.analysis.judging import MARGIN, OTHER_WORK, Arms
from pyscale.analysis.ranks.loader import loader_trials
from pyscale.analysis.ranks.reconstruct import reconstruct_trials
from pyscale.analysis.scaling import configurations

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


WHY_NOT = {
    "unknown-work": "No speedup: it is unknown whether both did the same work.",
    "other-input": "No speedup: input or parameters differ, so the work does too.",
    OTHER_WORK: "No speedup: the work of N workers differs.",
    "not-in-base": "No speedup: the baseline has no time here.",
    "other-stages": "No speedup: the sums are over different stages.",
    "invalid": "No speedup: one of the two is invalid (see its flags).",
    "no-time": "No speedup: it took no time.",
}
"""Why a time is not compared with the baseline's."""

CELL = ("stage", "device", "workers", "part")
"""What names a time within a side: no stage is the sum over stages, no part the whole."""


@dataclass(frozen=True)
class Side:
    """One of the sets of results that stand side by side."""

    configurations: pl.DataFrame
    alike: frozenset[Hashable]
    """Names of what it processed: times of two sides are compared only where they share one."""
    losses: pl.DataFrame | None = None
    """None where no parts are known."""
    trials: pl.DataFrame | None = None
    """What `configurations` summarises; None where it is not known."""


def times_side_by_side(sides: Sequence[Side]) -> pl.DataFrame:
    """Line up the times of all sides, a row per side and `CELL`.

    They are in order of N, stages as the sides name them, and each stage before its parts. A side
    that names no device stands beside the only one that the others have for the stage; `suite` and
    `own_device` are what the side itself calls them. `wall_s` of a part are its worker-seconds over
    N, so that the parts sum to T(N), and `percent` is of the side's sum over stages at this N.
    """
    whole = _on_devices(pl.concat([_whole(place, side) for place, side in enumerate(sides)]))
    sums = (
        whole.drop_nulls("wall_s")
        .group_by("side", "workers", maintain_order=True)
        .agg(pl.col("wall_s").sum())
    )
    # Sums come first.
    lines = pl.concat([sums, whole, _parts(sides, whole)], how="diagonal")
    return (
        lines.with_row_index("_row")
        .with_columns(
            _stage=pl.col("_row").min().over("stage", "device"),
            _part=pl.col("_row").min().over("part"),
        )
        .join(sums.rename({"wall_s": "_sum_s"}), on=["side", "workers"], how="left")
        .sort("workers", "_stage", "_part", "side")
        .select(
            *("side", *CELL, "wall_s", "wall_s_low", "wall_s_high"),
            (100 * pl.col("wall_s") / pl.col("_sum_s")).alias("percent"),
            *("repeats", "work", "invalid", "suite", "own_device"),
        )
    )


def stages_beside(sides: Sequence[Side]) -> Beside:
    """Line up all sides, and compare those that did the same work, the earlier as the base."""
    times = times_side_by_side(sides)
    one = ["stage", "own_device"]
    devices = times.filter(pl.col("part").is_null()).select(*one, "device").unique()
    pairs = {}
    for (base, before), (new, after) in combinations(enumerate(sides), 2):
        if before.trials is None or after.trials is None or _why_not(before, after):
            continue
        tables = (before.configurations, after.configurations)
        table = compared(before.trials, after.trials, *tables).rename({"device": "own_device"})
        # Devices are called as in `times`.
        pairs[base, new] = table.join(
            devices, on=one, how="left", nulls_equal=True, maintain_order="left"
        ).with_columns(part=pl.lit(None, pl.String))
    return Beside(CELL, times, pairs, _speedups(sides, times, pairs))


def _speedups(sides: Sequence[Side], times: pl.DataFrame, pairs: Pairs) -> pl.DataFrame:
    rows = times.to_dicts()
    cells = by_labels(times, ("side", *CELL))
    stages: dict[tuple[int, int], set[tuple[Any, ...]]] = {}
    for row in rows:
        if row["stage"] is not None and row["part"] is None and row["wall_s"] is not None:
            stages.setdefault((row["side"], row["workers"]), set()).add(
                (row["stage"], row["device"])
            )

    def why_not(base: int, row: Row) -> str | None:
        """Reason against the comparison of one row of `times`."""
        if reason := _why_not(sides[base], sides[row["side"]]):
            return reason
        there = cells.get((base, *(row[name] for name in CELL)))
        if there is None or there["wall_s"] is None or row["wall_s"] is None:
            return "not-in-base"
        if row["stage"] is None:
            own = stages[row["side"], row["workers"]]
            if own != stages[base, row["workers"]]:
                return "other-stages"
            summed = (cells[row["side"], *stage, row["workers"], None] for stage in sorted(own))
            return next(filter(None, (why_not(base, stage) for stage in summed)), None)
        if row["part"] is not None:
            whole = cells[row["side"], row["stage"], row["device"], row["workers"], None]
            return why_not(base, whole) or (None if row["wall_s"] else "no-time")
        if row["invalid"] or there["invalid"]:
            return "invalid"
        unlike = None not in {row["work"], there["work"]} and row["work"] != there["work"]
        return OTHER_WORK if unlike else None

    return speedups(times, CELL, len(sides), pairs, lambda base, row: why_not(base, row) or "time")


def _whole(place: int, side: Side) -> pl.DataFrame:
    return side.configurations.select(
        pl.lit(place, pl.Int64).alias("side"),
        *("suite", "stage", "device", "workers"),
        pl.lit(None, pl.String).alias("part"),
        *("wall_s", "wall_s_low", "wall_s_high", "repeats", "work", "invalid"),
    )


def _on_devices(whole: pl.DataFrame) -> pl.DataFrame:
    """Put times of a device that nobody named beside those of the only one that was."""
    named = whole.drop_nulls("device").group_by("stage").agg(pl.col("device").unique())
    only = named.filter(pl.col("device").list.len() == 1).select(
        "stage", _only=pl.col("device").list.first()
    )
    return (
        whole.join(only, on="stage", how="left", maintain_order="left")
        .with_columns(own_device="device", device=pl.coalesce("device", "_only"))
        .drop("_only")
    )


def _parts(sides: Sequence[Side], whole: pl.DataFrame) -> pl.DataFrame:
    """Parts of each time of `whole`, as far as known."""
    one = ["side", "suite", "stage", "own_device", "workers"]
    losses = [
        side.losses.select(
            pl.lit(place, pl.Int64).alias("side"),
            *("suite", "stage", "workers", "part"),
            own_device="device",
            wall_s=pl.col("worker_seconds") / pl.col("workers"),
        )
        for place, side in enumerate(sides)
        if side.losses is not None
    ]
    lines = whole.select(*one, "device")
    if not losses:
        return lines.clear()
    return pl.concat(losses).join(lines, on=one, nulls_equal=True, maintain_order="left")


def _why_not(base: Side, other: Side) -> str | None:
    """Reason why no time of two sides may be compared."""
    if base.alike & other.alike:
        return None
    return "other-input" if base.alike and other.alike else "unknown-work"

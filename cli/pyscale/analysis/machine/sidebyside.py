"""Tests of several machines beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from pyscale.analysis.schema import TEXT

CELL = ("kind", "entry", "processes", "device", "test", "at_once", "step")
"""What names a time within a side: no step is the whole of a test."""
KINDS = ("storage", "decompress", "kernels")
PROCESSOR, GPU = "processor", "GPU"
_OF_A_TEST = (
    *("whole", "repeats", "first_s", "wall_s", "wall_s_low", "wall_s_high", "percent", "amount"),
    *("unit", "rate", "rate_low", "rate_high", "bottleneck", "cache", "why_not", "flags"),
)


@dataclass(frozen=True)
class MachineSide:
    """The tests of one machine."""

    tests: pl.DataFrame
    """Of one node."""
    sizes: Mapping[str, str]
    """By `stage` of `tests`: a fingerprint of all that says how large an image or a map is."""
    trials: pl.DataFrame | None = None
    """As `pyscale.analysis.machine.processes.trial_medians` gives it; None where not known."""


def machines_side_by_side(sides: Sequence[MachineSide]) -> pl.DataFrame:
    """Line up the tests of all sides, a row per side and `CELL`.

    Storage comes before decompression before kernels, the processor before GPUs, tests are as the
    sides name them, and each test stands before its steps. `entry` is told where a side has several
    that did one test. `device` is `processor`, or `GPU`, with a number from the second one of a
    side; `own_device`, `stage` and `workers` are what the side itself calls them.
    """
    lines = pl.concat([_lines(place, side) for place, side in enumerate(sides)])
    one = ["side", *(name for name in CELL if name != "entry")]
    of_several = lines.group_by(one).agg(several=pl.col("stage").n_unique() > 1)["several"].any()
    named = pl.col("stage") if of_several else pl.lit(None, pl.String)
    # A node that took part in trials of several N by one process each is shown at the lowest.
    lines = (
        lines.with_columns(entry=named)
        .sort("workers", maintain_order=True)
        .unique(["side", *CELL], keep="first", maintain_order=True)
    )
    kinds = {kind: place for place, kind in enumerate(KINDS)}
    return (
        lines.with_row_index("_row")
        .with_columns(
            _kind=pl.col("kind").replace_strict(kinds, default=len(KINDS), return_dtype=pl.Int64),
            _gpu=pl.col("device") != PROCESSOR,
            _test=pl.col("_row").min().over("kind", "test"),
            # A test stands before its steps, wherever it was first named.
            _step=pl.when(pl.col("step").is_not_null()).then(
                pl.col("_row").min().over("kind", "test", "step")
            ),
        )
        .sort(
            *("_kind", "entry", "processes", "_gpu", "device", "_test", "at_once", "_step", "side"),
            nulls_last=False,
        )
        .select("side", *CELL, "own_device", "stage", "workers", "size", *_OF_A_TEST)
    )


def _lines(place: int, side: MachineSide) -> pl.DataFrame:
    names = device_names(side.tests["device"].unique(maintain_order=True))
    return side.tests.select(
        pl.lit(place, pl.Int64).alias("side"),
        *("kind", "stage", "workers", "processes", "test", "step", "at_once", *_OF_A_TEST),
        own_device="device",
        device=pl.col("device").replace_strict(names, return_dtype=TEXT),
        size=pl.col("stage").replace_strict(side.sizes, default=None, return_dtype=TEXT),
    )


def device_names(devices: Iterable[str | None]) -> dict[str | None, str]:
    """Call devices by what they are, so that those of two machines stand beside each other."""
    own = list(devices)
    gpus = [name for name in own if name not in {None, "", "cpu"}]
    named: dict[str | None, str] = {
        name: GPU if place == 1 else f"{GPU} {place}" for place, name in enumerate(gpus, 1)
    }
    return {name: named.get(name, PROCESSOR) for name in own}

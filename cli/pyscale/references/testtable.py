"""The table of a reference whose sweep is `test`: what each process timed of a test or a step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from pyscale.analysis.machine.tests import machine_tests
from pyscale.analysis.referencemodel import Loaded, Reference
from pyscale.errors import UserError
from pyscale.store.tables import timing_schema

REQUIRED = ("test", "wall_s")
TEXTS = ("stage", "device", "test", "timing", "unit", "bottleneck", "cache")
COUNTS = ("workers", "worker", "at_once", "repeat")
NUMBERS = ("wall_s", "amount")
STANDARD: dict[str, Any] = {"workers": 1, "worker": 0, "at_once": 1, "repeat": 0}
"""What a column holds that a table does not have, or leaves open."""


def checked_tests(table: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Check a table of tests, and give each of its columns the type that it must have.

    `timing` is a step inside the test, empty is the whole of it; an empty `device` is the
    processor; `workers` are processes on a node at the same time, each by itself, and `worker` is
    which of them; `at_once` are readers or threads; rows of one `repeat` are no independent
    measurements.
    """
    for name in REQUIRED:
        if name not in table.columns:
            raise UserError(f"{path} has no column {name!r}: a table of tests needs {REQUIRED}")
    kinds: dict[str, Any] = dict.fromkeys(TEXTS, pl.String)
    kinds |= dict.fromkeys(COUNTS, pl.Int64) | dict.fromkeys(NUMBERS, pl.Float64)
    own = {name: kind for name, kind in kinds.items() if name in table.columns}
    try:
        found = table.with_columns(pl.col(name).cast(kind) for name, kind in own.items())
    except PolarsError as error:
        raise UserError(
            f"{path} has a cell that is not a number ({str(error).splitlines()[0]}): write "
            "wall_s and amount as numbers, and repeat, at_once and the like as whole numbers"
        ) from error
    if not found["wall_s"].is_finite().fill_null(value=False).all() or (found["wall_s"] < 0).any():
        raise UserError(f"{path} has an invalid wall_s: write seconds in every row")
    if found["test"].is_null().any():
        raise UserError(f"{path} has a row without a test: name the test of every time")
    return found


def machine_tests_of(loaded: Loaded) -> pl.DataFrame | None:
    """What follows from a reference's tests of a machine; None where it has none."""
    if not loaded.reference.has_tests:
        return None
    return machine_tests(_as_timings(loaded.reference, loaded.table))


def _as_timings(reference: Reference, table: pl.DataFrame) -> pl.DataFrame:
    """Lay a checked table out as a run keeps its timings, so that both are summed up alike."""
    standard = [
        (pl.col(name).fill_null(value) if name in table.columns else pl.lit(value)).alias(name)
        for name, value in STANDARD.items()
    ]
    kinds = reference.stages
    found = table.with_columns(standard).with_columns(
        pl.col("worker").cast(pl.String).alias("task"),
        pl.col("repeat").cast(pl.String).alias("trial"),
        pl.lit(reference.name).alias("suite"),
        pl.lit("{}").alias("details"),
        pl.lit("").alias("why_not"),
    )
    if "stage" in table.columns:
        kind = pl.col("stage").replace_strict(kinds, default=None, return_dtype=pl.String)
        found = found.with_columns(kind=kind)
    if "timing" in table.columns:
        step = pl.col("timing").replace("", None)
        found = found.with_columns(step=step.replace(reference.steps))
    if "device" in table.columns:
        # In the timings of a run the processor is a device without a name.
        found = found.with_columns(device=pl.col("device").replace(["", "cpu"], None))
    schema = timing_schema()
    lacking = [pl.lit(None).alias(name) for name in schema if name not in found.columns]
    return found.with_columns(lacking).select(
        pl.col(name).cast(kind) for name, kind in schema.items()
    )

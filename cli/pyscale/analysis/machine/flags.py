"""Conditions that raise the flags of tests of the machine."""

from __future__ import annotations

import polars as pl

from pyscale.analysis.flags import FLAGS
from pyscale.analysis.intervals import repeats_needed


def flags_of() -> pl.Expr:
    """Codes of all doubts about a row, in the order of `FLAGS`.

    Of columns of `pyscale.analysis.machine.tests.machine_tests`, and `wrong` (bool).
    """
    repeats, cache = pl.col("repeats"), pl.col("cache")
    holds = {
        "few-repeats": (repeats > 0) & (repeats < repeats_needed()),
        "first-call-only": (repeats == 0) & pl.col("first_s").is_not_null(),
        "warm-not-cold": pl.col("test").str.ends_with("_cold") & (cache == "warm"),
        "evicted-unverified": cache == "evicted-unverified",
        "cache-uncontrolled": cache == "unsupported",
        "steps-overlap": pl.col("step").is_not_null() & ~pl.col("whole") & (pl.col("at_once") > 1),
        "disagrees": pl.col("wrong"),
    }
    codes = [pl.when(holds[code]).then(pl.lit(code)) for code in FLAGS if code in holds]
    return pl.concat_list(codes).list.drop_nulls()

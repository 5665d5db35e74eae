"""Flags: a code and a sentence for each doubt about a test of the machine."""

from __future__ import annotations

import polars as pl

from pyscale.analysis.intervals import repeats_needed

SENTENCES = {
    "few-repeats": f"Fewer than {repeats_needed()} timed trials, too few for a 95 % interval: "
    "repeats inside one process are not independent trials.",
    "first-call-only": (
        "Only the first call was timed, which includes one-time costs, so no time is given: raise "
        "repeats."
    ),
    "wrong-result": "The result is wrong: the time is of other work.",
    "evicted-unverified": (
        "Files were evicted from the page cache; the eviction could not be verified."
    ),
    "not-cold": (
        "Cold cache requested, but files were in the page cache or in a filesystem in memory: the "
        "rate is not the storage's."
    ),
    "steps-overlap": (
        "Several threads ran at once: steps may overlap, and their times do not sum to the whole."
    ),
}


def flags_of() -> pl.Expr:
    """Codes of all doubts about a row, in the order of `SENTENCES`.

    Of columns of `pyscale.analysis.machine.tests.machine_tests`, and `wrong` (bool).
    """
    few = (pl.col("repeats") > 0) & (pl.col("repeats") < repeats_needed())
    holds = {
        "few-repeats": few,
        "first-call-only": (pl.col("repeats") == 0) & pl.col("first_s").is_not_null(),
        "wrong-result": pl.col("wrong"),
        "evicted-unverified": pl.col("cache") == "evicted-unverified",
        "not-cold": pl.col("test").str.ends_with("_cold")
        & pl.col("cache").is_in(["warm", "unsupported"]),
        "steps-overlap": pl.col("step").is_not_null() & ~pl.col("whole") & (pl.col("at_once") > 1),
    }
    codes = [pl.when(holds[code]).then(pl.lit(code)) for code in SENTENCES]
    return pl.concat_list(codes).list.drop_nulls()

"""What a reader must know before trusting what a test of the machine gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyscale.analysis.intervals import repeats_needed

if TYPE_CHECKING:
    import polars as pl

SENTENCES = {
    "few-repeats": f"Fewer than {repeats_needed()} trials timed it, too few for a 95 % interval: "
    "repeats inside one process are no trials of their own.",
    "first-call-only": (
        "Only the first call was timed, which also pays for what is done once, so that no time is "
        "given: raise repeats."
    ),
    "wrong-result": "What was computed is not what must come out: its time is that of other work.",
    "evicted-unverified": (
        "Files were evicted from the page cache, but nothing here can prove that they were gone."
    ),
    "not-cold": (
        "Files were to be read cold, but lay in the page cache or in a filesystem that keeps them "
        "in memory: the rate is not the storage's."
    ),
    "steps-overlap": (
        "Several threads did it at once: its steps may overlap, and their times are not parts of "
        "the whole."
    ),
}


def flags_of() -> pl.Expr:
    """Codes of all doubts about a row, in the order of `SENTENCES`.

    Of columns of `pyscale.analysis.machine.tests.machine_tests`, and `wrong` (bool).
    """
    import polars as pl

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

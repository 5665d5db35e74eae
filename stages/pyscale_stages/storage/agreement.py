"""Compares two outputs: whether the same tests gave the same results, whatever time they took."""

from __future__ import annotations

import polars as pl

from pyscale_stages.contract import Agreement
from pyscale_stages.machine.timingtable import read_table
from pyscale_stages.task import Task
from pyscale_stages.timing import TIMINGS
from pyscale_stages.windows import folders_to_check, same_bytes

CHECKSUM = "checksum_crc32"
KEY = ["test", "workers", "repeat"]


def check(task: Task) -> Agreement:
    """Say which share of the tests gave the same checksums of what was read."""
    folders = folders_to_check(task)
    reference, other = (results(read_table(folder)) for folder in folders)
    return agreement_of(reference, other, identical=same_bytes(*folders, (TIMINGS,)))


def results(timings: pl.DataFrame) -> pl.DataFrame:
    """Reduce timings to which test, whether it ran, its checksum; of workers that agree one row."""
    return (
        timings.filter(pl.col("step").is_null())
        .select(
            *KEY,
            pl.col("wall_s").is_not_null().alias("ran"),
            pl.col("details").str.json_path_match(f"$.{CHECKSUM}").cast(pl.Float64).alias(CHECKSUM),
        )
        .unique(maintain_order=True)
    )


def agreement_of(reference: pl.DataFrame, other: pl.DataFrame, *, identical: bool) -> Agreement:
    """Compare the results of two outputs."""
    # As machines differ, a test that one could not run is no disagreement; one it lacks is.
    both = reference.join(other, on=KEY, suffix="_other")
    ran = both.filter(pl.col("ran") & pl.col("ran_other"))
    different = ran.filter(~pl.col(CHECKSUM).eq_missing(pl.col(f"{CHECKSUM}_other")))
    keys = [table.select(KEY).unique() for table in (reference, other)]
    common = len(keys[0].join(keys[1], on=KEY))
    either = len(keys[0]) + len(keys[1]) - common
    wrong = len(different.select(KEY).unique())
    score = (common - wrong) / either if either else 1.0
    return Agreement(
        same=score == 1.0,
        identical=identical,
        score=score,
        measure=(
            "share of repeats of tests, of all in either output, that both outputs have and that "
            "read the same bytes in both (CRC-32); times are not compared"
        ),
        tolerance=1.0,
        details={
            "tests_in_both": float(common),
            "tests_in_one": float(either - common),
            "different_checksums": float(wrong),
            "ran_in_both": float(len(ran.select(KEY).unique())),
            "compared_checksums": float(ran[CHECKSUM].is_not_null().sum()),
        },
    )

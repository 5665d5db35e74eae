"""Compares two outputs: whether the same tests gave the same results, whatever time they took."""

from __future__ import annotations

from functools import partial

import polars as pl

from pyscale_stages.machine.timingtable import Compared, checked

CHECKSUM = "checksum_crc32"
KEY = ["test", "workers", "repeat"]


def compared(*tables: pl.DataFrame) -> Compared:
    """Say which share of the tests gave the same checksums of what was read."""
    # As machines differ, a test that one could not run is no disagreement; one it lacks is.
    reference, other = (results(table) for table in tables)
    ran = reference.join(other, on=KEY, suffix="_other").filter("ran", "ran_other")
    different = ran.filter(~pl.col(CHECKSUM).eq_missing(pl.col(f"{CHECKSUM}_other")))
    keys = [table.select(KEY).unique() for table in (reference, other)]
    common = len(keys[0].join(keys[1], on=KEY))
    either = len(keys[0]) + len(keys[1]) - common
    wrong = len(different.select(KEY).unique())
    measure = (
        "share of repeats of tests, of all in either output, that both outputs have and that "
        "read the same bytes in both (CRC-32); times are not compared"
    )
    details = {
        "tests_in_both": common,
        "tests_in_one": either - common,
        "different_checksums": wrong,
        "ran_in_both": len(ran.select(KEY).unique()),
        "compared_checksums": int(ran[CHECKSUM].is_not_null().sum()),
    }
    return (common - wrong) / either if either else 1.0, measure, details


check = partial(checked, compare=compared)


def results(timings: pl.DataFrame) -> pl.DataFrame:
    """Reduce timings to which test, whether it ran, its checksum; of workers that agree one row."""
    whole = timings.filter(pl.col("step").is_null())
    checksum = pl.col("details").str.json_path_match(f"$.{CHECKSUM}").cast(pl.Float64)
    ran = pl.col("wall_s").is_not_null()
    found = whole.select(*KEY, ran.alias("ran"), checksum.alias(CHECKSUM))
    return found.unique(maintain_order=True)

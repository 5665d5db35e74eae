"""Compares the results of two outputs of the stage, and never their times."""

from __future__ import annotations

from functools import partial

import polars as pl

from pyscale_stages.machine.timingtable import Compared, checked

NOT_RUN = "not run"


def compared(*tables: pl.DataFrame) -> Compared:
    """Say which share of the codecs gave the same pixels in two outputs."""
    one, two = (_results(table) for table in tables)
    tests = one.keys() | two.keys()
    # A codec must give one result only: that of every repeat and number of threads.
    same = [test for test in tests if one.get(test) == two.get(test) and len(one[test]) == 1]
    measure = (
        "share of codecs whose decoded pixels are the same in both outputs, or that neither "
        "could run; times are not compared"
    )
    score = len(same) / len(tests) if tests else 1.0
    return score, measure, {"codecs": len(tests), "same_codecs": len(same)}


check = partial(checked, compare=compared)


def _results(table: pl.DataFrame) -> dict[str, set[str]]:
    """What came out of each codec: checksums of the decoded movie, or that it was not run."""
    # A number of threads that is more than there are frames says nothing of the codec.
    checksums = pl.col("sha256").filter(pl.col("sha256") != "")
    found = table.filter(step="decode").group_by("test").agg(checksums)
    return {test: set(each) or {NOT_RUN} for test, each in found.rows()}

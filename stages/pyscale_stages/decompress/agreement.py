"""Compares the results of two outputs of the stage, and never their times."""

from __future__ import annotations

import polars as pl

from pyscale_stages.contract import Agreement
from pyscale_stages.machine.timingtable import read_table
from pyscale_stages.task import Task
from pyscale_stages.timing import TIMINGS
from pyscale_stages.windows import folders_to_check, same_bytes

NOT_RUN = "not run"
Results = dict[str, frozenset[str]]


def check(task: Task) -> Agreement:
    """Say which share of the codecs gave the same pixels in two outputs."""
    folders = folders_to_check(task)
    one, two = (results_of(read_table(folder)) for folder in folders)
    return agreement_of(one, two, identical=same_bytes(*folders, [TIMINGS]))


def results_of(table: pl.DataFrame) -> Results:
    """What came out of each codec: checksums of the decoded movie, or that it was not run."""
    found: dict[str, set[str]] = {}
    decoded = table.filter(step="decode")
    for row in decoded.iter_rows(named=True):
        # A number of threads that is more than there are frames says nothing of the codec.
        results = found.setdefault(row["test"], set())
        if row["sha256"]:
            results.add(row["sha256"])
    return {test: frozenset(results or {NOT_RUN}) for test, results in found.items()}


def agreement_of(one: Results, two: Results, *, identical: bool) -> Agreement:
    """Compare the results codec by codec."""
    tests = one.keys() | two.keys()
    # A codec must give one result only: that of every repeat and number of threads.
    same = [test for test in tests if one.get(test) == two.get(test) and len(one[test]) == 1]
    score = len(same) / len(tests) if tests else 1.0
    return Agreement(
        same=score == 1.0,
        identical=identical,
        score=score,
        measure=(
            "share of codecs whose decoded pixels are the same in both outputs, or that neither "
            "could run; times are not compared"
        ),
        tolerance=1.0,
        details={"codecs": float(len(tests)), "same_codecs": float(len(same))},
    )

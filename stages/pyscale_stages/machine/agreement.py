"""Compares what came out of the tests of a machine, and never how long it took.

A test says it by numbers among the details of its timings: `checksum`, and where the result was
judged by a known property, `error` and `tolerance`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import inf, isclose, nan

import polars as pl

from pyscale_stages.contract import Agreement
from pyscale_stages.machine.timingtable import read_table
from pyscale_stages.task import Task
from pyscale_stages.timing import TIMINGS
from pyscale_stages.windows import folders_to_check, same_bytes

SAME_CHECKSUM = 1e-3
"""Largest relative difference of computed numbers: devices add them in different orders."""


def check(task: Task) -> Agreement:
    """Say which share of the tests gave the same results in two outputs."""
    folders = folders_to_check(task)
    one, two = (results(read_table(folder)) for folder in folders)
    # A test that a machine cannot run has no checksum; one that an output does not name is missing.
    missing = one.keys() ^ two.keys()
    compared = [test for test in one.keys() & two.keys() if one[test] and two[test]]
    same = sum(_alike(*one[test], *two[test]) for test in compared)
    total = len(missing) + len(compared)
    return Agreement(
        same=same == total > 0,
        identical=same_bytes(*folders, (TIMINGS,)),
        score=same / total if total else 0.0,
        measure="share of tests, of all that ran in both outputs or are named in one alone, whose "
        "results are right and the same in both; times are not compared",
        tolerance=1.0,
        details={
            "compared_tests": float(len(compared)),
            "same_tests": float(same),
            "tests_in_one": float(len(missing)),
        },
    )


def results(timings: pl.DataFrame) -> dict[str, list[tuple[float, float]]]:
    """Checksums of each test, and by how much each may differ; a wrong one is not a number."""
    found: dict[str, list[tuple[float, float]]] = {}
    for test, text in timings.select("test", "details").iter_rows():
        found.setdefault(test, []).extend(_checksum(json.loads(text)))
    return found


def _checksum(details: dict[str, float]) -> Iterator[tuple[float, float]]:
    # A number that is not finite is not there.
    if "tolerance" in details:
        is_right = details.get("error", inf) <= details["tolerance"]
        yield details.get("checksum", nan) if is_right else nan, SAME_CHECKSUM
    elif "checksum" in details:
        yield details["checksum"], 0.0


def _alike(first: tuple[float, float], *others: tuple[float, float]) -> bool:
    value, within = first
    return all(isclose(value, other, rel_tol=within) for other, _ in (first, *others))

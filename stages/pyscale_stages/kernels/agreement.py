"""Compares the results of two outputs: what was computed, never how long it took."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import partial
from math import isclose

import polars as pl

from pyscale_stages.kernels.params import NOT_APPLICABLE, SAME_CHECKSUM
from pyscale_stages.machine.timingtable import Compared, checked


def compared(*tables: pl.DataFrame) -> Compared:
    """Say which share of the tests have the same, right results in two outputs."""
    results = [_results(table) for table in tables]
    pairs = [[result.get(name, []) for result in results] for name in {*results[0], *results[1]}]
    # A test that one output does not even name is missing there, not inapplicable.
    both = [pair for pair in pairs if None not in pair]
    same = sum(_same(*pair) for pair in both)
    measure = (
        "share of tests, of all that ran in either output and apply in both, whose every "
        f"repeat is right and has the same checksum within {SAME_CHECKSUM}; times do not count"
    )
    details = {"compared_tests": len(both), "same_tests": same}
    return same / len(both) if both else 0.0, measure, details


check = partial(checked, compare=compared)


def _results(table: pl.DataFrame) -> dict[str, list[float] | None]:
    """Checksums of each test's repeats, empty where one is wrong; None where it does not apply."""
    found: dict[str, list[float] | None] = {}
    spoilt: set[str] = set()
    checksums: defaultdict[str, list[float]] = defaultdict(list)
    for row in table.filter(pl.col("step").is_null()).iter_rows(named=True):
        test, details = row["test"], json.loads(row["details"])
        if row["wall_s"] is None and row["why_not"].startswith(NOT_APPLICABLE):
            found.setdefault(test, None)
        elif row["wall_s"] is None or not _is_right(details):
            spoilt.add(test)
        else:
            checksums[test].append(details["checksum"])
    return found | dict(checksums) | {test: [] for test in spoilt}


def _is_right(details: dict[str, float]) -> bool:
    # A number that is not finite is not there.
    judged = details.keys() >= {"checksum", "error", "tolerance"}
    return judged and details["error"] <= details["tolerance"]


def _same(one: list[float] | None, two: list[float] | None) -> bool:
    if not one or not two:
        return False
    return all(isclose(one[0], each, rel_tol=SAME_CHECKSUM) for each in (*one, *two))

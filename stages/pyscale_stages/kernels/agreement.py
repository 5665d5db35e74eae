"""Compares the results of two outputs: what was computed, never how long it took."""

from __future__ import annotations

import json
from collections import defaultdict
from math import isclose

import polars as pl

from pyscale_stages.contract import Agreement
from pyscale_stages.kernels.params import NOT_APPLICABLE, SAME_CHECKSUM
from pyscale_stages.machine.timingtable import read_table
from pyscale_stages.task import Task
from pyscale_stages.timing import TIMINGS
from pyscale_stages.windows import folders_to_check, same_bytes


def check(task: Task) -> Agreement:
    """Say which share of the tests have the same, right results in two outputs."""
    folders = folders_to_check(task)
    reference, other = (read_table(folder) for folder in folders)
    return agreement_of(reference, other, identical=same_bytes(*folders, (TIMINGS,)))


def agreement_of(reference: pl.DataFrame, other: pl.DataFrame, *, identical: bool) -> Agreement:
    """Compare the checksums of all repeats; a test that does not apply to a device has none."""
    results = _results(reference), _results(other)
    pairs = [[result.get(name, []) for result in results] for name in {*results[0], *results[1]}]
    # A test that one output does not even name is missing there, not inapplicable.
    compared = [pair for pair in pairs if None not in pair]
    same = sum(_same(*pair) for pair in compared)
    score = same / len(compared) if compared else 0.0
    return Agreement(
        same=score == 1.0,
        identical=identical,
        score=score,
        measure=(
            "share of tests, of all that ran in either output and apply in both, whose every "
            f"repeat is right and has the same checksum within {SAME_CHECKSUM}; times do not count"
        ),
        tolerance=1.0,
        details={"compared_tests": float(len(compared)), "same_tests": float(same)},
    )


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

"""The table of timings: one row each, written and read back, joined and compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from math import inf, isclose, nan
from pathlib import Path

import polars as pl

from pyscale_stages import parquet
from pyscale_stages.contract import Agreement
from pyscale_stages.errors import BadInput
from pyscale_stages.task import Task
from pyscale_stages.timing import TIMINGS, Timing
from pyscale_stages.windows import folders_to_check, of_one_measurement, same_bytes

WORKER = "worker"
"""Column that says which of the joined outputs a row is from; 0 before they are joined."""
TYPES = {
    WORKER: pl.Int64,
    "test": pl.String,
    "step": pl.String,
    "repeat": pl.Int64,
    "workers": pl.Int64,
    "device": pl.String,
    "wall_s": pl.Float64,
    "amount": pl.Float64,
    "unit": pl.String,
    "bottleneck": pl.String,
    "cache": pl.String,
    "why_not": pl.String,
    "details": pl.String,
}
"""Columns and their types; `details` is JSON, because every test has its own."""
SAME_CHECKSUM = 1e-3
"""Largest relative difference of computed numbers: devices add them in different orders."""


def timings_table(timings: Sequence[Timing]) -> pl.DataFrame:
    """Make one row of each timing."""
    rows = [
        {WORKER: 0}
        | timing.model_dump(mode="json")
        | {"details": json.dumps(timing.details, sort_keys=True)}
        for timing in timings
    ]
    return pl.DataFrame(rows, schema=TYPES)


def write_results(task: Task) -> None:
    """Write the output of one worker: its timings, and what they are of."""
    timings = timings_table(task.of(Timing))
    task.count(objects=len(timings))
    with task.span("write"):
        parquet.write_tables(task, {TIMINGS: timings})
        part = task.spec.frames or (0, 1)
        task.write_window(part, task.spec.movie_frames or part[1])


def read_table(folder: Path) -> pl.DataFrame:
    """Read the table of an output folder."""
    return parquet.read_table(folder / TIMINGS, TYPES)


def merge(task: Task) -> None:
    """Put the tables of all workers, each of which did all tests, below each other."""
    # Workers that measured the same thing at once may have the same frames; then the order given
    # is kept.
    found = of_one_measurement(task, "workers")
    seen = set()
    for path, _ in found:
        if path.resolve() in seen:
            raise BadInput(f"{path} is given twice: give each worker's output once")
        seen.add(path.resolve())
    parts: list[pl.DataFrame] = []
    workers = 0
    for path, _ in found:
        table = read_table(path)
        parts.append(table.with_columns(pl.col(WORKER) + workers))
        workers += table[WORKER].n_unique()
    joined = pl.concat(parts)
    parquet.write_tables(task, {TIMINGS: joined})
    task.count(objects=len(joined))
    task.write_whole(found[0][1])


def check(task: Task) -> Agreement:
    """Say which share of the tests gave the same results in two outputs, whatever their times.

    A test says it by numbers among the details of its timings: `checksum`, and where the result
    was judged by a known property, `error` and `tolerance`.
    """
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
        details = json.loads(text)
        # Each of several movies has frames of its own.
        name = f"{test} {details['movie']:g}" if details.get("movie") else test
        found.setdefault(name, []).extend(_checksum(details))
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

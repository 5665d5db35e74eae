"""A reference from a run of machine tests: every process, and how it was timed."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from pyscale.analysis.flags import SENTENCES
from pyscale.analysis.machine.processes import process_medians
from pyscale.analysis.machine.tests import machine_tests
from pyscale.analysis.referencemodel import TESTS, Content
from pyscale.references.workid import size_ids_of
from pyscale.store.folder import RunFolder
from pyscale.store.tables import Tables

WRONG = "disagrees"
COLUMNS = (
    *("stage", "workers", "worker", "device", "test", "timing", "at_once", "repeat", "wall_s"),
    *("amount", "unit", "bottleneck", "cache"),
)
"""Of its table; no node is named, as none is of its kind."""


def of_tests(run: RunFolder, tables: Tables) -> Content:
    """Take the tests of a run that measured nothing but the machine, of all nodes as of one."""
    found = machine_tests(tables.timings)
    table = _repeats(tables.timings, found)
    kinds = dict(tables.timings.select("stage", "kind").unique(maintain_order=True).iter_rows())
    stages = {entry: kinds[entry] for entry in table["stage"].unique(maintain_order=True)}
    return Content(
        table=table,
        sweep=TESTS,
        stages=stages,
        figures="wall times of tests of the machine itself, and of the steps inside them: of each "
        "process the median over its repeats, without first calls",
        caveats=() if table.is_empty() else tuple(_caveats(found, table)),
        conditions=_storage(tables),
        size_ids={e: size_id for e, size_id in size_ids_of(run.plan).items() if e in stages},
    )


def _repeats(timings: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """What each process timed, without tests that computed something else."""
    test = ["stage", "workers", "node", "device", "test", "at_once"]
    wrong = found.filter(pl.col("flags").list.contains(WRONG)).select(test)
    together = found.select(*test, "processes").unique()
    return (
        process_medians(timings)
        .drop_nulls("wall_s")
        .join(wrong.unique(), on=test, how="anti", nulls_equal=True, maintain_order="left")
        .join(together, on=test, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(
            # All nodes count as one, so that N are the processes of a node.
            workers="processes",
            worker=pl.col("task").rank("dense").over("trial", "node").cast(pl.Int64) - 1,
            timing="step",
        )
        .with_columns(
            repeat=pl.int_range(pl.len()).over(
                *("stage", "workers", "worker", "device", "test", "at_once", "step")
            )
        )
        .select(COLUMNS)
    )


def _storage(tables: Tables) -> dict[str, str]:
    """Filesystems that were measured, by their kind: no folder and no server is named."""
    names = {"place": "measured filesystem", "cache": "filesystem of the cache folder"}
    return {
        name: ", ".join(sorted(set(types)))
        for place, name in names.items()
        if (
            types := [
                facts[f"{place}_filesystem"]
                for facts in tables.sources.places.values()
                if f"{place}_filesystem" in facts
            ]
        )
    }


def _caveats(found: pl.DataFrame, table: pl.DataFrame) -> Iterator[str]:
    """Say how it was measured, and every doubt about it."""
    one = ("stage", "workers", "worker", "device", "test", "timing", "at_once")
    counts = table.group_by(one).len()["len"].unique().sort().to_list()
    each = " to ".join(str(counts[place]) for place in sorted({0, len(counts) - 1}))
    yield (
        f"Each test was timed in {each} trial{'s' if counts[-1] > 1 else ''}, by processes of "
        "their own, within the minutes of one run: another day is not in their spread."
    )
    # What one device could not do, another may have done.
    absent = sorted(set(found.filter("whole", found["why_not"] != "")["test"]) - set(table["test"]))
    if absent:
        yield f"Not measured there: {', '.join(absent)}."
    for code, sentence in SENTENCES.items():
        flagged = found.filter(found["flags"].list.contains(code), found["whole"])
        tests = list(dict.fromkeys(flagged["test"]))
        if tests and code == WRONG:
            yield f"Left out, as the result was wrong there: {', '.join(tests)}."
        elif tests:
            yield f"{', '.join(tests)}: {sentence}"

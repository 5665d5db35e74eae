"""Reports as users have them on disk, of runs and tables that are made up."""

from __future__ import annotations

import csv
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.report.context import ReportContext
from pyscale.report.results import Results
from pyscale.report.write import write_report
from pyscale.results import analysed
from runbuilder import RunBuilder

FILES = {
    "configurations": "benchmark_results_aggregated.csv",
    "losses": "benchmark_losses.csv",
    "trials": "benchmark_trials.csv",
    "points": "benchmark_points.csv",
    "ratios": "benchmark_ratios.csv",
    "parts": "benchmark_call_parts.csv",
    "tests": "benchmark_tests.csv",
    "nodes": "benchmark_nodes.csv",
    "headroom": "benchmark_headroom.csv",
    "loader": "benchmark_loader.csv",
    "loader_ranks": "benchmark_loader_ranks.csv",
    "reconstruct": "benchmark_reconstruct.csv",
    "reconstruct_points": "benchmark_reconstruct_points.csv",
}
KEYS = {
    "configurations": ("suite", "stage", "device", "workers"),
    "losses": ("suite", "stage", "device", "workers", "part"),
    "trials": ("trial",),
    "points": ("suite", "stage", "workers"),
    "ratios": ("suite", "family", "series", "value", "workers", "measure", "pixels"),
    "parts": ("suite", "stage", "workers", "part"),
    "tests": (
        *("kind", "stage", "workers", "node", "hardware", "device", "test", "step", "at_once"),
    ),
    "nodes": (
        *("kind", "stage", "workers", "device", "test", "step", "at_once", "node", "hardware"),
    ),
    "headroom": ("stage", "workers", "node"),
    "loader": ("stage", "workers"),
    "loader_ranks": ("stage", "workers", "rank", "node"),
    "reconstruct": ("stage", "workers", "component"),
    "reconstruct_points": ("stage", "workers"),
}
"""Columns that name a row of each table, as the page does."""
MARKUP = "<script>alert(1)</script>"
HOSTILE = (
    MARKUP,
    '"><img src=x onerror=alert(2)>',
    "</script><script>alert(3)</script>",
    "{{ 7 * 7 }} & \\u003cb\\u003e",
    "a.b[0]['c']\\\\n",
    "constructor",
    "segment_" + "very_long_" * 20,
    "细胞分割 \u202eright to left",
)
"""Names of stages that break what is put together from text."""


class Report(NamedTuple):
    """A written report, and the results that it is of."""

    folder: Path
    results: Results

    @property
    def page(self):
        return self.folder / "report.html"

    def file(self, table):
        return self.folder / FILES[table]

    def rows(self, table):
        """Rows of one of its CSV files, by the keys that the page gives them."""
        with self.file(table).open(encoding="utf-8", newline="") as file:
            return {key_of(table, row): row for row in csv.DictReader(file)}


def key_of(table, row):
    """Name a row as the page does: an absent value is an empty part."""
    return "|".join("" if row[column] is None else str(row[column]) for column in KEYS[table])


@contextmanager
def without_figures():
    """Write reports without figures for print, which no page shows."""
    # Undone at once: other tests of the same process want them.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pyscale.report.write.write_figures", lambda *_, **__: [])
        yield


def written(folder, results):
    with without_figures():
        write_report(folder, results)
    return Report(folder, results)


def table_results():
    """Results of wall times that were measured elsewhere, in seconds of two stages."""
    rows = [
        {"stage": stage, "workers": count, "wall_s": whole_s / count + 5 * repeat, "repeat": repeat}
        for stage, whole_s in (("segment", 9703.0), ("track", 332.0))
        for count in (1, 2, 4, 8)
        for repeat in range(6)
    ]
    trials = trials_from_wall_times(pl.DataFrame(rows), suite="times")
    context = ReportContext(title="wall times of times.csv", measured_for="times.csv")
    return analysed(trials, context, interleaved=False, held="machine")


def broken_run():
    """Two stages at N = 1, 2 and 4, six times; track at N = 4 disagrees in its last trial."""
    run = RunBuilder()
    for block, more_s in enumerate((3.0, 0.0, 5.0, 1.0, 4.0, 2.0)):
        for stage in ("segment", "track"):
            for count in (1, 2, 4):
                bad = (stage, count, block) == ("track", 4, 5)
                run.trial(
                    stage,
                    [{"import": 2.0, "compute": (80.0 + more_s) / count}] * count,
                    block=block,
                    agreement=0.6231 if bad else 1.0,
                    same=not bad,
                )
    return run


def hostile_run():
    """Stages, nodes and measures with names that break what is put together from text."""
    run = RunBuilder()
    for block in range(2):
        for stage in HOSTILE:
            for count in (1, 2):
                run.trial(
                    stage,
                    [{"import": 2.0, "compute": 60.0 / count + block}] * count,
                    block=block,
                    nodes=(MARKUP, "n" * 200),
                    hardware=(MARKUP,),
                    agreement=1.0,
                    quality={MARKUP: 0.5},
                )
    return run


def single_run():
    """One trial of one stage, and nothing to compare it with."""
    return RunBuilder().trial("segment", [{"import": 2.0, "compute": 60.0}])


def weak_run():
    """As many frames for each worker at every N, and more reading the more workers there are."""
    run = RunBuilder()
    for block in range(6):
        for count in (1, 2, 4):
            work = {"compute": 100.0 + block, "read": 10.0 * count}
            run.trial("segment", [work] * count, block=block, movie_frames=20 * count)
    return run

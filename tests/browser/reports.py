"""Reports as users have them on disk, of runs and tables that are made up."""

from __future__ import annotations

import csv
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from madeupgrid import made_up
from madeuploader import ENTRIES, consuming
from madeuploader import made_up as made_up_loading
from madeupmachine import made_up as made_up_machine
from madeupreconstruct import made_up as made_up_reconstruction
from madeupreference import reference
from pretendedrun import make_run
from pyscale.analysis.machine.findings import MachineFindings
from pyscale.analysis.ranks.loader import LoaderFindings
from pyscale.analysis.ranks.reconstruct import ReconstructFindings
from pyscale.analysis.referencemodel import Referred
from pyscale.analysis.walltimes import trials_from_wall_times
from pyscale.evaluation.results import ReportOptions, analysed
from pyscale.evaluation.results import results_of as results_of_folder
from pyscale.references.files import all_references
from pyscale.references.matching import matching_loading, matching_reconstruct
from pyscale.report.context import ReportContext
from pyscale.report.csv import FILES, RARE_FILES
from pyscale.report.page import values
from pyscale.report.results import Results
from pyscale.report.write import write_report
from runbuilder import RunBuilder

KEYS = {one.table: one.key for one in vars(values).values() if isinstance(one, values.Numbers)}
KEYS |= {"trials": ("trial",)}
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
        return self.folder / (FILES | RARE_FILES)[table]

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

    def spent(n, block):
        return {"compute": 100.0 + block, "read": 10.0 * n}

    frames = {"movie_frames": lambda n, _: 20 * n}
    return RunBuilder().curve("segment", spent, (1, 2, 4), **frames)


def full_run(path):
    """The pipeline at N = 1, 2 and 4, six times, with all records of a run on a cluster."""
    run = make_run(path, counts=(1, 2, 4), repeats=6, frames=96)
    return results_of_folder(run, options=ReportOptions(references=("pycyto",)))


def one_machine():
    """One node with two GPUs, a stage beside that reads a movie at N = 1 and 2, and a reference."""
    own = made_up_machine(1, pipeline=True)
    tests = own.of(MachineFindings).tests
    slower = tests.with_columns(wall_s=pl.col("wall_s") * 2, rate=pl.col("rate") / 2)
    elsewhere = reference(name="elsewhere", sweep="test")
    return replace(own, beside={"machine": [Referred(elsewhere, slower)]})


def failing_loading(**told):
    """Eight configurations of a loader on 1 and 2 ranks; the last one fails."""
    *others, last = consuming(500.0)
    failing = replace(last, error="a slide cannot be read: CMU-1.svs")
    return made_up_loading([*others, failing], **told)


def published_loading():
    """The same on four ranks with three trials each, beside what somebody published."""
    like = replace(ENTRIES[2], num_workers=4, pool_size=8)
    results = made_up_loading([*ENTRIES[:2], like], ranks=(4,), repeats=3)
    known = all_references(None).values()
    beside = matching_loading(known, results.of(LoaderFindings).points)
    return replace(results, beside={"loader": beside})


def published_reconstruction(**told):
    """Three images on 1 to 8 ranks, one of them too large for one, beside what is published."""
    results = made_up_reconstruction(slowest=1.1, **told)
    known = all_references(None).values()
    beside = matching_reconstruct(known, results.of(ReconstructFindings).points)
    return replace(results, beside={"reconstruct": beside})


MADE_UP = {
    "full": full_run,
    "broken": lambda _: broken_run().results_with_timeline("a broken run"),
    "table": lambda _: table_results(),
    "hostile": lambda _: hostile_run().results_with_timeline("<b>a run</b>"),
    "single": lambda _: single_run().results_with_timeline("one trial"),
    "weak": lambda _: weak_run().results_with_timeline("weak scaling"),
    # CPU and GPU, six times, beside what others measured.
    "grid": lambda _: made_up(sizes=(224, 448, 896, 1344, 2016)),
    "machine": lambda _: one_machine(),
    # Three nodes without a GPU, of which the third reads at half the rate.
    "machines": lambda _: made_up_machine(3, gpus=False),
    "loading": lambda _: failing_loading(),
    "loadings": lambda _: published_loading(),
    "reconstruction": lambda _: published_reconstruction(),
}
"""Results of every report, by its name, made with a folder of their own."""

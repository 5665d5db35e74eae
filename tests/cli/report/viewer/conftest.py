"""Results side by side."""

from dataclasses import replace

import polars as pl
import pytest

from madeupreference import reference as made_up
from pyscale.analysis.referencemodel import Referred
from pyscale.evaluation.results import analysed
from pyscale.report.viewer.build import comparison_table
from pyscale.report.viewer.sources import SideBySide, beside_references, source_of

MOVIE = frozenset({"movie"})


@pytest.fixture(scope="session")
def slower(full):
    """The whole pipeline, where each trial took 1.4 times as long."""
    return analysed(full.trials.with_columns(wall_s=1.4 * pl.col("wall_s")), full.context)


@pytest.fixture(scope="session")
def two_runs(full, slower):
    """The pipeline, and the slower one on the same movie."""
    return SideBySide.of([source_of(full, alike=MOVIE), source_of(slower, alike=MOVIE)])


@pytest.fixture(scope="session")
def reference():
    """A reference of one stage."""
    return made_up(title="cluster of 2019", stages={"cells": "segment"})


@pytest.fixture(scope="session")
def with_reference(full, reference):
    """Build a report of a run beside a reference of its stages, with any of its fields replaced."""

    def build(**changes):
        elsewhere = full.configurations.filter(pl.col("stage") == "segment").with_columns(
            suite=pl.lit("other"),
            device=pl.lit(None, pl.String),
            label=pl.lit("cells"),
            wall_s=2 * pl.col("wall_s"),
        )
        context = full.context.model_copy(update={"run_id": "run-1", "work_id": "same"})
        referred = [Referred(reference.model_copy(update=changes), elsewhere)]
        return beside_references(replace(full, context=context, references=referred))

    return build


@pytest.fixture(scope="session")
def assert_told():
    """Hold every number that a viewer shows against its table as CSV, by columns of the two."""

    def check(shown, names):
        table = comparison_table(shown.found, shown.layout)
        keys = ("side", *shown.found.names)
        rows = {
            "|".join("" if row[name] is None else str(row[name]) for name in keys): row
            for row in table.to_dicts()
        }
        cells = [cell for row in shown.rows for cell in row["cells"] if cell is not None]
        assert cells
        for cell in cells:
            own = rows[cell["key"]]
            assert [own[name] for name in names] == [cell[name] for name in names]
            against = cell["speedups"][0] or {}
            for name in ("speedup", "speedup_low", "speedup_high"):
                assert own[name] == against.get(name)
            assert own[shown.layout.no_speedup] == against.get("why_not")

    return check

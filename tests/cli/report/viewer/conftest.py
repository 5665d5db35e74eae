"""Results side by side."""

from dataclasses import replace

import polars as pl
import pytest

from madeupreference import reference as made_up
from pyscale.analysis.referencemodel import Referred
from pyscale.evaluation.results import analysed
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

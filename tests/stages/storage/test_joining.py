from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from pyscale_stages.contract import TaskResult
from pyscale_stages.storage.agreement import agreement_of, results

RunStorage = Callable[..., TaskResult]
FAST = {"modes": ["warm"], "readers": [1], "movie_formats": ["mrc"]}


@pytest.fixture
def outputs(run_storage: RunStorage, place: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Outputs of two workers that measured the same."""
    folders = tmp_path / "one", tmp_path / "two"
    for folder in folders:
        assert run_storage("run", place, output=folder, **FAST).error is None
    return folders


def test_two_runs_with_one_seed_read_the_same(run_storage, outputs):
    agreement = run_storage("check", *outputs, **FAST).agreement
    assert agreement is not None
    assert agreement.same
    assert not agreement.identical, "times differ"
    assert agreement.details["tests_in_one"] == 0
    assert agreement.details["compared_checksums"] >= 5


def test_another_seed_gives_other_particles(run_storage, outputs, place, tmp_path):
    other = tmp_path / "other"
    run_storage("run", place, output=other, seed=1, **FAST)
    agreement = run_storage("check", outputs[0], other, **FAST).agreement
    assert agreement is not None
    assert not agreement.same
    assert agreement.details["different_checksums"] >= 5


def test_a_test_that_one_machine_cannot_run_is_no_disagreement(outputs, timings):
    table = timings(outputs[0])
    lacks = pl.col("test") == "parallel_read_warm"
    cannot = table.with_columns(
        wall_s=pl.when(~lacks).then("wall_s"),
        details=pl.when(lacks).then(pl.lit("{}")).otherwise("details"),
    )
    agreement = agreement_of(results(table), results(cannot), identical=False)
    assert agreement.same
    assert agreement.details["ran_in_both"] == len(results(table).filter("ran")) - 1


def test_a_test_that_only_one_output_has_is_a_disagreement(outputs, timings):
    table = results(timings(outputs[0]))
    agreement = agreement_of(
        table, table.filter(pl.col("test") != "metadata_stat"), identical=False
    )
    assert not agreement.same
    assert agreement.details["tests_in_one"] == 1


def test_proofs_of_the_page_cache_are_joined_too(run_storage, outputs, tmp_path):
    merged = tmp_path / "merged"
    assert run_storage("merge", *outputs, output=merged, **FAST).error is None
    table = pl.read_parquet(merged / "residency.parquet")
    for worker, folder in enumerate(outputs):
        part = table.filter(worker=worker).drop("worker")
        assert part.equals(pl.read_parquet(folder / "residency.parquet").drop("worker"))
    agreement = run_storage("check", outputs[0], merged, **FAST).agreement
    assert agreement is not None
    assert agreement.same

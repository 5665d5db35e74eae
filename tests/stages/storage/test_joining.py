import polars as pl
import pytest

from pyscale_stages.storage.agreement import compared, results

FAST = {"modes": ["warm"], "readers": [1], "movie_formats": ["mrc"]}


@pytest.fixture
def outputs(bench, place):
    """Outputs of two workers that measured the same."""
    return [bench.done("run", place, output=name, **FAST) for name in ("one", "two")]


def test_of_two_runs_the_same_checksums_are_compared_and_with_another_seed_differ(
    bench, outputs, place
):
    details = bench.agreement(*outputs, **FAST).details
    assert details["tests_in_one"] == 0
    assert details["compared_checksums"] >= 5
    other = bench.done("run", place, output="other", seed=1, **FAST)
    assert bench.agreement(outputs[0], other, **FAST).details["different_checksums"] >= 5


def test_a_test_that_one_machine_cannot_run_is_no_disagreement_and_one_that_lacks_is(
    outputs, timings
):
    table = timings(outputs[0])
    lacks = pl.col("test") == "parallel_read_warm"
    cannot = table.with_columns(
        wall_s=pl.when(~lacks).then("wall_s"),
        details=pl.when(lacks).then(pl.lit("{}")).otherwise("details"),
    )
    score, _, details = compared(table, cannot)
    assert score == 1
    assert details["ran_in_both"] == len(results(table).filter("ran")) - 1
    score, _, details = compared(table, table.filter(pl.col("test") != "metadata_stat"))
    assert score < 1
    assert details["tests_in_one"] == 1


def test_proofs_of_the_page_cache_are_joined_too(bench, outputs):
    merged = bench.done("merge", *outputs, output="merged", **FAST)
    table = pl.read_parquet(merged / "residency.parquet")
    for worker, folder in enumerate(outputs):
        part = table.filter(worker=worker).drop("worker")
        assert part.equals(pl.read_parquet(folder / "residency.parquet").drop("worker"))
    assert bench.agreement(outputs[0], merged, **FAST).same

import polars as pl
import pytest

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
    assert details["same_tests"] == details["compared_tests"] >= 5
    other = bench.done("run", place, output="other", seed=1, **FAST)
    assert bench.agreement(outputs[0], other, **FAST).details["same_tests"] == 0


def test_proofs_of_the_page_cache_are_joined_too(bench, outputs):
    merged = bench.done("merge", *outputs, output="merged", **FAST)
    table = pl.read_parquet(merged / "residency.parquet")
    for worker, folder in enumerate(outputs):
        part = table.filter(worker=worker).drop("worker")
        assert part.equals(pl.read_parquet(folder / "residency.parquet").drop("worker"))
    assert bench.agreement(outputs[0], merged, **FAST).same

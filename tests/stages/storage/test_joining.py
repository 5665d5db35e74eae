import polars as pl
import pytest

FAST = {"modes": ["warm"], "readers": [1], "movie_formats": ["mrc"]}


@pytest.fixture
def outputs(bench, place):
    """Outputs of two workers that measured the same."""
    return [bench.done("run", place, output=name, **FAST) for name in ("one", "two")]


def test_proofs_of_the_page_cache_are_joined_too(bench, outputs):
    merged = bench.done("merge", *outputs, output="merged", **FAST)
    table = pl.read_parquet(merged / "residency.parquet")
    for worker, folder in enumerate(outputs):
        part = table.filter(worker=worker).drop("worker")
        assert part.equals(pl.read_parquet(folder / "residency.parquet").drop("worker"))
    assert bench.agreement(outputs[0], merged, **FAST).same

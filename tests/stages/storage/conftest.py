"""The storage stage, small."""

import polars as pl
import pytest

from smallstages import SMALL
from stagetasks import Bench


@pytest.fixture
def timings():
    """Read the table of an output folder, with a column of checksums."""
    checksum = pl.col("details").str.json_path_match("$.checksum").cast(pl.Float64)
    return lambda folder: pl.read_parquet(folder / "timings.parquet").with_columns(
        checksum.alias("checksum")
    )


@pytest.fixture(scope="session")
def measured(tmp_path_factory):
    """Record, output folder and place of two repeats of all tests, with the seed 7."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "place").mkdir()
    (folder / "place" / "mine.txt").write_text("not to be touched")
    bench = Bench("storage", folder, **SMALL["storage"])
    result = bench.run("run", folder / "place", repeats=2, seed=7)
    assert result.error is None
    return result, folder / "out", folder / "place"

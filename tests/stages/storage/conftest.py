"""The storage stage, small."""

import polars as pl
import pytest

from stagetasks import Bench

SMALL = {
    "particles": 23,
    "particle_side_px": 18,
    "particle_files": 3,
    "movies": 2,
    "movie_frames": 2,
    "movie_side_px": 64,
    "small_files": 7,
    "small_file_bytes": 100,
    "readers": [1, 2],
    "block_bytes": 4096,
    "repeats": 1,
    "fio": False,
}
"""No size of it is a multiple of a block, and the files hold unequal numbers of particles."""


@pytest.fixture
def bench(tmp_path):
    """The stage."""
    return Bench("storage", tmp_path, **SMALL)


@pytest.fixture
def place(tmp_path):
    """An empty folder to measure."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


@pytest.fixture
def timings():
    """Read the table of an output folder, with a column of checksums."""
    checksum = pl.col("details").str.json_path_match("$.checksum_crc32").cast(pl.Float64)
    return lambda folder: pl.read_parquet(folder / "timings.parquet").with_columns(
        checksum.alias("checksum_crc32")
    )


@pytest.fixture(scope="session")
def measured(tmp_path_factory):
    """Record, output folder and place of two repeats of all tests, with the seed 7."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "place").mkdir()
    (folder / "place" / "mine.txt").write_text("not to be touched")
    bench = Bench("storage", folder, **SMALL)
    result = bench.run("run", folder / "place", repeats=2, seed=7)
    assert result.error is None
    return result, folder / "out", folder / "place"

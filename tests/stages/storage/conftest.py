"""Small tasks of the storage stage that run in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pyscale_stages.contract import TaskResult
from stagetasks import run_verb

RunStorage = Callable[..., TaskResult]
SMALL: dict[str, Any] = {
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
def run_storage(tmp_path: Path) -> RunStorage:
    """Run a verb of the stage on folders."""

    def run(
        verb: str = "run", *inputs: Path, output: Path | None = None, seed: int = 0, **params: Any
    ) -> TaskResult:
        slots = ("place",) if verb == "run" else ("",) * len(inputs)
        pairs = zip(slots, inputs, strict=False)
        output = output or tmp_path / "out"
        return run_verb("storage", verb, pairs, output=output, params=SMALL | params, seed=seed)

    return run


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty folder to measure."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


@pytest.fixture
def timings() -> Callable[[Path], pl.DataFrame]:
    """Read the table of an output folder, with a column of checksums."""
    checksum = pl.col("details").str.json_path_match("$.checksum_crc32").cast(pl.Float64)
    return lambda folder: pl.read_parquet(folder / "timings.parquet").with_columns(
        checksum.alias("checksum_crc32")
    )

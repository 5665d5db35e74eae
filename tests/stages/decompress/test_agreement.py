"""Joining outputs of several workers, and comparing outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import imagecodecs
import polars as pl
import pytest

from pyscale_stages.contract import Agreement, TaskResult

RunDecompress = Callable[..., TaskResult]


def agreement(result: TaskResult) -> Agreement:
    assert result.error is None
    assert result.agreement is not None
    return result.agreement


def test_two_runs_agree_whatever_their_times(run_decompress: RunDecompress, tmp_path: Path) -> None:
    for name in ("one", "two"):
        run_decompress("run", output=tmp_path / name)
    found = agreement(run_decompress("check", tmp_path / "one", tmp_path / "two"))
    assert (found.same, found.identical, found.score) == (True, False, 1.0)


def test_numbers_of_threads_need_not_be_the_same(
    run_decompress: RunDecompress, tmp_path: Path
) -> None:
    run_decompress("run", output=tmp_path / "one", params={"threads": [1]})
    run_decompress("run", output=tmp_path / "two", params={"threads": [2, 8]})
    assert agreement(run_decompress("check", tmp_path / "one", tmp_path / "two")).same


def test_other_pixels_do_not_agree(run_decompress: RunDecompress, tmp_path: Path) -> None:
    run_decompress("run", output=tmp_path / "one", seed=0)
    run_decompress("run", output=tmp_path / "two", seed=1)
    found = agreement(run_decompress("check", tmp_path / "one", tmp_path / "two"))
    assert (found.same, found.score) == (False, 0.0)


def test_a_codec_that_one_machine_lacks_does_not_agree(
    run_decompress: RunDecompress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_decompress("run", output=tmp_path / "one")
    monkeypatch.setattr(imagecodecs.JPEG2K, "available", False)
    for name in ("two", "three"):
        run_decompress("run", output=tmp_path / name)
    found = agreement(run_decompress("check", tmp_path / "one", tmp_path / "two"))
    assert (found.same, found.score) == (False, pytest.approx(6 / 7))
    assert agreement(run_decompress("check", tmp_path / "two", tmp_path / "three")).same


def test_workers_are_joined_with_their_numbers(
    run_decompress: RunDecompress, tmp_path: Path
) -> None:
    folders = [tmp_path / f"worker{number}" for number in range(3)]
    for number, folder in enumerate(folders):
        assert run_decompress("run", output=folder, frames=(number, number + 1)).error is None
    merged = tmp_path / "merged"
    assert run_decompress("merge", *folders, output=merged).error is None
    rows = pl.read_parquet(merged / "timings.parquet")
    assert rows["worker"].unique(maintain_order=True).to_list() == [0, 1, 2]
    of_second = rows.filter(worker=1).drop("worker")
    assert of_second.equals(pl.read_parquet(folders[1] / "timings.parquet"))
    assert agreement(run_decompress("check", folders[0], merged)).same


def test_outputs_with_other_parameters_are_not_joined(
    run_decompress: RunDecompress, tmp_path: Path
) -> None:
    run_decompress("run", output=tmp_path / "one", params={"dose_per_px": 0.1})
    result = run_decompress("merge", tmp_path / "one", output=tmp_path / "merged")
    assert result.error is not None
    assert "other parameters" in result.error.message


def test_a_missing_table_is_told(run_decompress: RunDecompress, tmp_path: Path) -> None:
    run_decompress("run", output=tmp_path / "one")
    (tmp_path / "one" / "timings.parquet").unlink()
    result = run_decompress("check", tmp_path / "one", tmp_path / "one")
    assert result.error is not None
    assert "missing or broken" in result.error.message

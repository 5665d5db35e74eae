"""Joining outputs of several workers, and comparing outputs."""

from __future__ import annotations

import imagecodecs
import pytest

from pyscale_stages.contract import Agreement, TaskResult


def agreement(result: TaskResult) -> Agreement:
    assert result.error is None
    assert result.agreement is not None
    return result.agreement


def test_two_runs_agree_whatever_their_times(run_decompress, tmp_path):
    for name in ("one", "two"):
        run_decompress("run", output=tmp_path / name)
    found = agreement(run_decompress("check", tmp_path / "one", tmp_path / "two"))
    assert (found.same, found.identical, found.score) == (True, False, 1.0)


def test_numbers_of_threads_need_not_be_the_same(run_decompress, tmp_path):
    run_decompress("run", output=tmp_path / "one", params={"threads": [1]})
    run_decompress("run", output=tmp_path / "two", params={"threads": [2, 8]})
    assert agreement(run_decompress("check", tmp_path / "one", tmp_path / "two")).same


def test_other_pixels_do_not_agree(run_decompress, tmp_path):
    run_decompress("run", output=tmp_path / "one", seed=0)
    run_decompress("run", output=tmp_path / "two", seed=1)
    found = agreement(run_decompress("check", tmp_path / "one", tmp_path / "two"))
    assert (found.same, found.score) == (False, 0.0)


def test_a_codec_that_one_machine_lacks_does_not_agree(run_decompress, tmp_path, monkeypatch):
    run_decompress("run", output=tmp_path / "one")
    monkeypatch.setattr(imagecodecs.JPEG2K, "available", False)
    for name in ("two", "three"):
        run_decompress("run", output=tmp_path / name)
    found = agreement(run_decompress("check", tmp_path / "one", tmp_path / "two"))
    assert (found.same, found.score) == (False, pytest.approx(6 / 7))
    assert agreement(run_decompress("check", tmp_path / "two", tmp_path / "three")).same

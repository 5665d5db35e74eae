"""Mistakes a user makes: exit code 2, one sentence, and nothing half-made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

from pyscale_stages.contract import TaskResult
from pyscale_stages.movie import Pixels

RunStage = Callable[..., TaskResult]


def with_nan(path: Path, pixels: Pixels) -> None:
    broken = pixels.astype(np.float32)
    broken[2, 4, 5] = np.nan
    tifffile.imwrite(path, broken, ome=True, metadata={"axes": "TYX"})


def tiny(path: Path, pixels: Pixels) -> None:
    tifffile.imwrite(path, pixels[:, :20, :20], ome=True, metadata={"axes": "TYX"})


def whole(path: Path, pixels: Pixels) -> None:
    tifffile.imwrite(path, pixels, ome=True, metadata={"axes": "TYX"})


@pytest.mark.parametrize(
    ("make", "params", "said"),
    [
        (with_nan, {}, "frame 2 of"),
        (tiny, {}, "too small to shrink by 6: use shrink_factors of at most 2"),
        (whole, {"reference_frame": 4}, "reference_frame 4 is outside"),
        (whole, {"channel": 1}, "no channel 1 to register: it has 1"),
        (whole, {"transform": "rigid"}, "'transform'"),
        (whole, {"registration": False, "denoiser": "none"}, "denoiser is none"),
    ],
)
def test_a_mistake_is_said_in_one_sentence_and_leaves_nothing(
    tmp_path: Path,
    stage: RunStage,
    drifting_pixels: Pixels,
    make: Callable[[Path, Pixels], None],
    params: dict[str, Any],
    said: str,
) -> None:
    movie = tmp_path / "movie.ome.tif"
    make(movie, drifting_pixels)
    error = stage("run", movie, output=tmp_path / "out", params=params).error
    assert error is not None
    assert error.exit_code == 2
    assert said in error.message
    assert "\n" not in error.message
    assert not (tmp_path / "out").exists()


def test_a_failure_of_ants_names_the_frame(
    tmp_path: Path, stage: RunStage, drifting_movie: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ants

    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError("Registration failed with error code 1")

    monkeypatch.setattr(ants, "registration", fail)
    result = stage("run", drifting_movie, output=tmp_path / "out")
    assert result.error is not None
    assert result.error.exit_code == 2
    assert "cannot register frame 1 of" in result.error.message
    assert "choose another reference_frame" in result.error.message
    assert list((tmp_path / "out").iterdir()) == []


def test_an_absent_ants_is_named_with_the_way_to_get_it(
    tmp_path: Path, stage: RunStage, drifting_movie: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ants", None)
    result = stage("run", drifting_movie, output=tmp_path / "out")
    assert result.error is not None
    assert result.error.exit_code == 2
    assert "pip install antspyx==" in result.error.message

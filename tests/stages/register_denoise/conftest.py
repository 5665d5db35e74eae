"""A drifting specimen with known drift, and the stage's command line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
import tifffile
from scipy import ndimage

from pyscale_stages.commandline import main
from pyscale_stages.contract import TaskResult

Image = npt.NDArray[np.float32]
RunStage = Callable[..., TaskResult]
Specimen = Callable[..., Image]
Noisy = Callable[[Image, int], npt.NDArray[np.uint16]]

DRIFT_YX = ((0.0, 0.0), (5.0, 0.0), (-3.25, 2.5), (1.75, -6.0))
FAST = {"denoiser": "none", "iterations": [500, 500, 100, 0]}
"""Parameters for tests of anything but the registration's accuracy."""


def _specimen(shape_yx: tuple[int, int], drift_yx: tuple[float, float] = (0, 0)) -> Image:
    """Blobs on a background of 100 counts, moved by a drift; the same blobs every time."""
    margin = 16
    rng = np.random.default_rng(7)
    field = np.zeros((shape_yx[0] + 2 * margin, shape_yx[1] + 2 * margin))
    for y, x in zip(*(rng.uniform(0, side, 90) for side in field.shape), strict=True):
        field[int(y), int(x)] = rng.uniform(0.4, 1)
    field = ndimage.gaussian_filter(field, 3)
    moved = np.fft.ifft2(ndimage.fourier_shift(np.fft.fft2(field), drift_yx)).real
    image = moved[margin:-margin, margin:-margin] / field.max()
    counts: Image = (100 + 2000 * image).astype(np.float32)
    return counts


def _noisy(image: Image, seed: int) -> npt.NDArray[np.uint16]:
    """The image as a camera counts it: a photon each two counts."""
    return (2 * np.random.default_rng(seed).poisson(image.clip(0) / 2)).astype(np.uint16)


@pytest.fixture(scope="session")
def specimen() -> Specimen:
    """Draw the specimen: shape and drift in pixels, (y, x) each."""
    return _specimen


@pytest.fixture(scope="session")
def noisy() -> Noisy:
    """Add a camera's noise to an image, by a seed."""
    return _noisy


@pytest.fixture(scope="session")
def drifting_pixels() -> npt.NDArray[np.uint16]:
    """Four frames of 96 x 128 pixels that drift by `DRIFT_YX`."""
    return np.stack([_noisy(_specimen((96, 128), d), i) for i, d in enumerate(DRIFT_YX)])


@pytest.fixture
def drifting_movie(tmp_path: Path, drifting_pixels: npt.NDArray[np.uint16]) -> Path:
    """The drifting frames as an OME-TIFF with the axes TYX."""
    path = tmp_path / "movie.ome.tif"
    tifffile.imwrite(path, drifting_pixels, ome=True, metadata={"axes": "TYX"})
    return path


@pytest.fixture
def drift_truth(tmp_path: Path) -> Path:
    """The truth folder of `drifting_movie`."""
    folder = tmp_path / "truth"
    folder.mkdir()
    dy, dx = zip(*DRIFT_YX, strict=True)
    pl.DataFrame(
        {"frame": range(len(DRIFT_YX)), "dy_px": dy, "dx_px": dx},
        schema={"frame": pl.Int32, "dy_px": pl.Float64, "dx_px": pl.Float64},
    ).write_parquet(folder / "drift.parquet")
    return folder


@pytest.fixture
def stage(tmp_path: Path) -> RunStage:
    """Run a verb of the stage by its command line and return its record."""

    def run(
        verb: str,
        *inputs: Path,
        output: Path | None = None,
        params: dict[str, Any] | None = None,
        options: tuple[str, ...] = (),
    ) -> TaskResult:
        params_file, result_file = tmp_path / "params.json", tmp_path / "result.json"
        params_file.write_text(json.dumps(FAST if params is None else params))
        arguments = ["register_denoise", verb, "--params", str(params_file)]
        arguments += ["--result", str(result_file), *options]
        for path in inputs:
            arguments += ["--input", str(path)]
        if output is not None:
            arguments += ["--output", str(output)]
        code = main(arguments, time.monotonic())
        result = TaskResult.model_validate_json(result_file.read_bytes())
        assert code == (result.error.exit_code if result.error else 0)
        return result

    return run

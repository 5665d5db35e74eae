"""Distance of denoised frames from the true ones without noise."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from pyscale_stages.contract import Window
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.register_denoise.frames import FRAMES_FILE
from pyscale_stages.register_denoise.params import RegisterDenoiseParams
from pyscale_stages.register_denoise.transforms import LinearTransform, read_transforms
from pyscale_stages.task import Task

LEAST_GAIN_DB = 3.0
"""Half of the noise's power is left; the mean of two frames gains as much."""
BRIGHTEST_SHARE = 0.1
ROUNDING = 1 / 12
"""Variance of rounding the truth to whole counts: no error below it can be measured."""
NOISE_FILE = "noise.parquet"
IDENTITY = asdict(LinearTransform())

Image = npt.NDArray[np.float64]


def judge_denoising(task: Task, folder: Path, window: Window) -> None:
    """Measure denoised frames against the true ones without noise, and warn of a small gain.

    Only frames that registration left where they are count: moving a frame by parts of a pixel
    averages its noise too, which is no gain of the denoiser.

    The measures are means over these frames and channels: `psnr_gain_db`, the peak
    signal-to-noise ratio above that of the movie, and `bias_brightest`, the signed error of the
    brightest tenth of the true pixels as a share of the range of all. There are none where no
    frame was denoised and left in place, or the truth does not hold clean frames and noise.
    """
    truth = task.spec.truth
    params = RegisterDenoiseParams.model_validate(window.params)
    if truth is None or params.denoiser == "none" or not (truth / NOISE_FILE).exists():
        return
    output = Movie.open(folder / FRAMES_FILE)
    clean = [
        _clean_movie(truth / f"clean_ch{channel}.ome.tif", output, window)
        for channel in range(output.n_channels)
    ]
    noise_rms = _noise_rms(truth)
    first = window.frames[0]
    judged = []
    for frame in _unmoved(read_transforms(folder, window.frames)):
        for channel, movie in enumerate(clean):
            denoised = output.read(frame - first, frame - first + 1, channel)[0]
            true = movie.read(frame, frame + 1, 0)[0].astype(np.float64)
            noise = noise_rms.get((channel, frame), 0.0)
            if noise > 0 and np.ptp(true) > 0:
                judged.append(_gain_and_bias(denoised.astype(np.float64), true, noise))
    if not judged:
        return
    gain_db, bias = np.mean(judged, axis=0)
    task.set_quality(psnr_gain_db=float(gain_db), bias_brightest=float(bias))
    if gain_db < LEAST_GAIN_DB:
        task.warn(
            f"denoising by {params.denoiser} gains {gain_db:.2f} dB against the truth, less than "
            f"{LEAST_GAIN_DB:g} dB (images that registration left in place: {len(judged)}): "
            "choose another denoiser, or none",
            "weak-denoising",
        )


def _clean_movie(path: Path, output: Movie, window: Window) -> Movie:
    movie = Movie.open(path)
    # The truth may hold more frames than count.
    if movie.shape_yx != output.shape_yx or movie.n_frames < window.movie_frames:
        height, width = output.shape_yx
        raise BadInput(
            f"{path} does not hold {window.movie_frames} frames of {height} x {width} pixels: "
            "name the truth of the denoised movie"
        )
    return movie


def _gain_and_bias(denoised: Image, true: Image, noise_rms: float) -> tuple[float, float]:
    """Gain in dB and share of the range, as `judge_denoising` tells their means."""
    error = denoised - true
    gain_db = 10 * np.log10(noise_rms**2 / max(np.mean(error**2), ROUNDING))
    brightest = true >= np.quantile(true, 1 - BRIGHTEST_SHARE)
    return float(gain_db), float(error[brightest].mean() / np.ptp(true))


def _unmoved(transforms: pl.DataFrame) -> list[int]:
    """Frames whose transform is the identity."""
    return transforms.filter(
        *(pl.col(name) == value for name, value in IDENTITY.items()), pl.col("warp_max_px") == 0
    )["frame"].to_list()


def _noise_rms(truth: Path) -> dict[tuple[int, int], float]:
    """Root mean square noise of the movie, in counts, by channel and frame."""
    try:
        table = pl.read_parquet(truth / NOISE_FILE, glob=False)
        rows = table.select("channel", "frame", "noise_rms_counts").rows()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise BadInput(
            f"{truth / NOISE_FILE} is not a readable table of noise: make the movie again"
        ) from error
    return {(channel, frame): rms for channel, frame, rms in rows}

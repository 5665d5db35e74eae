"""Agreement of two outputs, and distance of one from the true drift and the true clean frames."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from pyscale_stages.contract import Agreement, Window
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie, Pixels
from pyscale_stages.parquet import read_table
from pyscale_stages.register_denoise.frames import open_frames
from pyscale_stages.register_denoise.params import RegisterDenoiseParams
from pyscale_stages.register_denoise.transforms import (
    TRANSFORMS_FILE,
    LinearTransform,
    centre_and_corners,
    correlation,
    mapped,
    read_transforms,
)
from pyscale_stages.task import Task
from pyscale_stages.validarea import VALID_FILE
from pyscale_stages.windows import common_window, folders_to_check, read_window, same_bytes
from pyscale_stages.wording import plural

CORNER_TOLERANCE_PX = 0.5
"""Frames that agree to half a pixel everywhere show a cell in the same pixels."""
CORRELATION_TOLERANCE = 0.99
"""Pearson correlation that two corrections of one frame reach within that distance."""
TRUTH_FILE = "drift.parquet"
REMEDY = "name a truth folder of a synthetic movie"

Vector = npt.NDArray[np.float64]


def check(task: Task) -> Agreement:
    """Compare two outputs frame by frame, and the second with the true drift if given."""
    reference, other = folders_to_check(task)
    window = common_window(reference, other)
    movies = [open_frames(folder, window) for folder in (reference, other)]
    shape_yx = movies[0].shape_yx
    layouts = [(m.n_frames, m.n_channels, *m.shape_yx) for m in movies]
    if layouts[0] != layouts[1]:
        raise BadInput(
            f"{movies[0].path} has (frames, channels, height, width) = {layouts[0]}, but "
            f"{movies[1].path} has {layouts[1]}: check two outputs of one movie"
        )
    tables = [read_transforms(folder, window.frames) for folder in (reference, other)]
    points = centre_and_corners(shape_yx)
    distances = np.linalg.norm(mapped(tables[0], points) - mapped(tables[1], points), axis=-1)
    corner_distance = distances.max(axis=1)
    likeness, identical = _pixel_agreement(*movies)
    agreeing = (corner_distance <= CORNER_TOLERANCE_PX) & (likeness >= CORRELATION_TOLERANCE)
    if task.spec.truth is not None:
        # The second output's own window: it may have another reference frame.
        drift = _true_drift(task.spec.truth, read_window(other), task.spec.movie_frames)
        task.set_quality(**drift_errors(tables[1], read_window(other), shape_yx, drift))
        judge_denoising(task, other, read_window(other))
    score = float(agreeing.mean())
    return Agreement(
        same=score >= 1,
        identical=same_bytes(reference, other, (movies[0].path.name, VALID_FILE, TRANSFORMS_FILE)),
        score=score,
        measure=(
            f"share of frames whose corners are mapped within {CORNER_TOLERANCE_PX} px and "
            f"whose pixels correlate by at least {CORRELATION_TOLERANCE}"
        ),
        tolerance=1.0,
        details={
            "corner_distance_max_px": float(corner_distance.max()),
            "corner_distance_mean_px": float(corner_distance.mean()),
            "pixel_correlation_min": float(likeness.min()),
            "identical_frame_share": float(identical.mean()),
        },
    )


def drift_errors(
    transforms: pl.DataFrame, window: Window, shape_yx: tuple[int, int], drift: Vector
) -> dict[str, float]:
    """Drift that the linear part of the correction left, in all but the reference frame."""
    params = RegisterDenoiseParams.model_validate(window.params)
    rows = np.arange(*window.frames)
    expected = drift[rows] - drift[params.reference_frame]
    points = centre_and_corners(shape_yx)
    left = np.linalg.norm(mapped(transforms, points) - points - expected[:, None], axis=-1)
    counted = rows != params.reference_frame
    if not counted.any():
        return {}
    left = left[counted]
    return {
        "drift_error_px": float(left[:, 0].mean()),
        "drift_error_max_px": float(left[:, 0].max()),
        "drift_error_corner_max_px": float(left[:, 1:].max()),
        "drift_uncorrected_px": float(np.linalg.norm(expected[counted], axis=1).mean()),
    }


def _true_drift(truth: Path, window: Window, counted: int | None) -> Vector:
    """Drift (dy, dx) of each frame of the movie, or of the first that count."""
    path, drift = truth / TRUTH_FILE, ("dy_px", "dx_px")
    table = read_table(path, ("frame", *drift), REMEDY).sort("frame")[:counted]
    if table["frame"].to_list() != list(range(window.movie_frames)):
        raise BadInput(
            f"{path} does not hold the frames 0:{window.movie_frames} of the movie: name the "
            "truth of the registered movie"
        )
    return table.select(drift).to_numpy()


def _pixel_agreement(reference: Movie, other: Movie) -> tuple[Vector, npt.NDArray[np.bool_]]:
    """Lowest correlation of each frame's channels, and whether the frame is identical."""
    pairs = zip(*(movie.frames(0, movie.n_frames) for movie in (reference, other)), strict=True)
    found = [
        (min(map(_correlation, first, second)), np.array_equal(first, second))
        for first, second in pairs
    ]
    correlations, identical = zip(*found, strict=True)
    return np.array(correlations), np.array(identical)


def _correlation(first: Pixels, second: Pixels) -> float:
    """Pearson correlation; images of one value agree with such images alone."""
    if np.array_equal(first, second):
        return 1.0
    return correlation(first.astype(np.float64), second.astype(np.float64))


BRIGHTEST_SHARE = 0.1
ROUNDING = 1 / 12
"""Variance of rounding the truth to whole counts: no error below it can be measured."""
NOISE_FILE = "noise.parquet"
IDENTITY = asdict(LinearTransform())

Image = npt.NDArray[np.float64]


def judge_denoising(task: Task, folder: Path, window: Window) -> None:
    """Measure denoised frames against the true ones without noise.

    Only frames that registration left in place count: moving one by parts of a pixel averages its
    noise too. `psnr_gain_db` is above the movie's ratio, `bias_brightest` the signed error of the
    brightest tenth of the true pixels as a share of the range of all.
    """
    truth = task.spec.truth
    params = RegisterDenoiseParams.model_validate(window.params)
    if truth is None or params.denoiser == "none" or not (truth / NOISE_FILE).exists():
        return
    output = open_frames(folder, window)
    clean = [
        _clean_movie(truth / f"clean_ch{channel}.ome.tif", output, window)
        for channel in range(output.n_channels)
    ]
    noise_rms = _noise_rms(truth)
    first = window.frames[0]
    judged = []
    is_unmoved = [pl.col(name) == value for name, value in (*IDENTITY.items(), ("warp_max_px", 0))]
    for frame in read_transforms(folder, window.frames).filter(*is_unmoved)["frame"]:
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


def _clean_movie(path: Path, output: Movie, window: Window) -> Movie:
    movie = Movie.open(path)
    # The truth may hold more frames than count.
    if movie.shape_yx != output.shape_yx or movie.n_frames < window.movie_frames:
        height, width = output.shape_yx
        raise BadInput(
            f"{path} does not hold {plural(window.movie_frames, 'frame')} of {height} x {width} "
            "pixels: name the truth of the denoised movie"
        )
    return movie


def _gain_and_bias(denoised: Image, true: Image, noise_rms: float) -> tuple[float, float]:
    """Gain in dB and share of the range, as `judge_denoising` tells their means."""
    error = denoised - true
    gain_db = 10 * np.log10(noise_rms**2 / max(np.mean(error**2), ROUNDING))
    brightest = true >= np.quantile(true, 1 - BRIGHTEST_SHARE)
    return float(gain_db), float(error[brightest].mean() / np.ptp(true))


def _noise_rms(truth: Path) -> dict[tuple[int, int], float]:
    """Root mean square noise of the movie, in counts, by channel and frame."""
    columns = ("channel", "frame", "noise_rms_counts")
    rows = read_table(truth / NOISE_FILE, columns, REMEDY).select(columns).rows()
    return {(channel, frame): rms for channel, frame, rms in rows}

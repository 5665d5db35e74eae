"""Frames of the stage in and out: accepted input, and how its output is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pyscale_stages.contract import Window
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie, Pixels
from pyscale_stages.moviewriter import open_written, written_in
from pyscale_stages.register_denoise.params import MIN_LEVEL_PX, RegisterDenoiseParams

FRAMES = "frames"
"""Name of the output, without the ending of its format."""
FRAMES_FILE = f"{FRAMES}.ome.tif"

FloatImage = npt.NDArray[np.float32]


def refuse_unusable(movie: Movie, params: RegisterDenoiseParams) -> None:
    """Say what the parameters ask of the movie that it does not have."""
    if not movie.dtype.kind == "f" and not (movie.dtype.kind in "iu" and movie.dtype.itemsize <= 4):
        raise BadInput(
            f"{movie.path} has pixels of type {movie.dtype}: "
            "convert it to 8, 16 or 32 bit integers or to floating point"
        )
    if not params.registration:
        return
    if params.channel >= movie.n_channels:
        raise BadInput(
            f"{movie.path} has no channel {params.channel} to register: it has "
            f"{movie.n_channels}, counted from 0"
        )
    if params.reference_frame >= movie.n_frames:
        raise BadInput(
            f"reference_frame {params.reference_frame} is outside {movie.path}, "
            f"which has the frames 0:{movie.n_frames}"
        )
    largest = min(movie.shape_yx) // MIN_LEVEL_PX
    if max(params.shrink_factors) > max(largest, 1):
        height, width = movie.shape_yx
        raise BadInput(
            f"{movie.path} has frames of {height} x {width} pixels, too small to shrink by "
            f"{max(params.shrink_factors)}: use shrink_factors of at most {max(largest, 1)}"
        )


def output_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Integers keep their type; everything else becomes float32."""
    return dtype.newbyteorder("=") if dtype.kind in "iu" else np.dtype(np.float32)


def as_dtype(image: FloatImage, dtype: np.dtype[Any]) -> Pixels:
    """Convert a result to the output's type: integers are rounded and clipped."""
    if dtype.kind == "f":
        return image.astype(dtype)
    limits = np.iinfo(dtype)
    # In float64 the limits of 32 bit integers are exact.
    return np.clip(np.rint(image.astype(np.float64)), limits.min, limits.max).astype(dtype)


def open_frames(folder: Path, window: Window) -> Movie:
    """Open the frames in the output folder of a window or of a merge."""
    return open_written(written_in(folder, FRAMES), window.frames)

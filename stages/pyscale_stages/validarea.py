"""The part of each frame that the camera saw, in a file beside frames that were moved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.omezarr import is_zarr
from pyscale_stages.wording import plural

Mask = npt.NDArray[np.bool_]

VALID_FILE = "valid.ome.tif"
"""A movie of uint8 beside the frames: 1 is a pixel that the camera saw, 0 one that was filled."""


def beside(frames: Path) -> Movie | None:
    """Open the valid area (uint8) beside a file of frames; None where there is none."""
    path = frames.parent / VALID_FILE
    is_output = frames.is_file() or is_zarr(frames)
    if not is_output or path == frames or not path.is_file():
        return None
    area = Movie.open(path)
    if area.n_channels != 1 or area.dtype != np.uint8:
        raise BadInput(
            f"{path} is not the valid area of {frames}: it has "
            f"{plural(area.n_channels, 'channel')} of "
            f"{area.dtype}, not one of uint8; write {frames} again, or move {path.name} away"
        )
    return area


def refuse_other(area: Movie, movie: Movie) -> None:
    """Raise `BadInput` where a valid area has other frames than the movie that it lies beside."""
    if (area.n_frames, area.shape_yx) != (movie.n_frames, movie.shape_yx):
        raise BadInput(
            f"{area.path} has {_size(area)} and {movie.path} has {_size(movie)}: "
            f"write {movie.path.name} again, or move {area.path.name} away"
        )


def _size(movie: Movie) -> str:
    height, width = movie.shape_yx
    return f"{plural(movie.n_frames, 'frame')} of {width} x {height} pixels"

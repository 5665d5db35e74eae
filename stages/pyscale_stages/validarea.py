"""The part of each frame that the camera saw, in a file beside frames that were moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie

Mask = npt.NDArray[np.bool_]

VALID_FILE = "valid.ome.tif"
"""A movie of uint8 beside the frames: 1 is a pixel that the camera saw, 0 one that was filled."""


def beside(movie: Movie, counted: int | None = None) -> Movie | None:
    """Open the valid area beside a file of frames, of which so many count; None without one."""
    path = movie.path.parent / VALID_FILE
    of_files = movie.path.is_dir() and movie.contents.level is None
    if of_files or path == movie.path or not path.is_file():
        return None
    area = Movie.open(path)
    area = replace(area, n_frames=min(counted or area.n_frames, area.n_frames))
    found, wanted = ((one.n_frames, *one.shape_yx) for one in (area, movie))
    if found != wanted or area.n_channels != 1:
        raise BadInput(
            f"{path} is not the valid area of {movie.path}, whose (frames, height, width) are "
            f"{wanted}: write {movie.path.name} again, or move {path.name} away"
        )
    return area

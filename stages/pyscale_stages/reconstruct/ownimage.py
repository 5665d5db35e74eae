"""How large the image is, and an image of the user's own in place of a made one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.reading import Reading
from pyscale_stages.reconstruct.stage import STEP_PX, ReconstructParams

Pixels = NDArray[np.float32]


def lengths_of(params: ReconstructParams) -> tuple[int, ...]:
    """Height and width of the image in pixels, or depth, height and width of a volume."""
    if params.image is None:
        if params.problem == "tomography_3d":
            return (params.size_px,) * 3
        return params.height_px or params.size_px, params.size_px
    return _cropped(_opened(params.image, params), params)


def _cropped(movie: Movie, params: ReconstructParams) -> tuple[int, ...]:
    found: tuple[int, ...] = movie.shape_yx
    if params.problem == "tomography_3d":
        found = (movie.n_frames, *found)
    lengths = tuple(length // STEP_PX * STEP_PX for length in found)
    if not min(lengths):
        raise BadInput(
            f"{params.image} is smaller than {STEP_PX} pixels along an axis: use another"
        )
    if params.problem != "colour_deblur" and len(set(lengths)) > 1:
        raise BadInput(
            f"{params.image} has {' x '.join(map(str, found))} pixels, and {params.problem} needs "
            "an image of one length along all axes: crop it"
        )
    return lengths


def own_image(params: ReconstructParams) -> Pixels:
    """Read the image, (channels, *lengths), as shares of its largest value."""
    assert params.image is not None
    movie = _opened(params.image, params)
    lengths = _cropped(movie, params)
    if params.problem == "tomography_3d":
        pixels = movie.read(0, lengths[0], channel=0)[None]
    elif params.problem == "tomography_2d":
        pixels = movie.read(0, 1, channel=0)
    else:
        pixels = movie.read(0, 1)[0]
    pixels = pixels[(slice(None), *(slice(length) for length in lengths))].astype(np.float32)
    darkest, brightest = min(pixels.min(), 0), pixels.max()
    if not brightest > pixels.min():
        raise BadInput(f"{params.image} has one value everywhere, so nothing can be seen in it")
    return np.asarray((pixels - darkest) / (brightest - darkest))


def _opened(path: Path, params: ReconstructParams) -> Movie:
    """Open the file; the planes of a volume are read as frames."""
    is_volume = params.problem == "tomography_3d"
    return Movie.open(path, reading=Reading(axes="TYX")) if is_volume else Movie.open(path)

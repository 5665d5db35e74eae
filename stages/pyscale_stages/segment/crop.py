"""The part of each frame that is segmented: all of it, or a square in its middle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie, Pixels


@dataclass(frozen=True)
class Crop:
    """A rectangle of every frame of a movie, in pixels."""

    top: int
    left: int
    shape_yx: tuple[int, int]

    def of(self, frame: Pixels) -> Pixels:
        """Cut it out of a frame of shape (Y, X), as pixels that follow each other in memory."""
        height, width = self.shape_yx
        rows, columns = slice(self.top, self.top + height), slice(self.left, self.left + width)
        return np.ascontiguousarray(frame[rows, columns])


def centre_crop(movie: Movie, length_px: int | None) -> Crop:
    """The square of that side in the middle of a movie's frames; with None, the whole frame.

    Where the rest is odd, its larger half lies below and to the right.

    Raises
    ------
    BadInput
        If a frame is smaller than the square.
    """
    height, width = movie.shape_yx
    if length_px is None:
        return Crop(0, 0, movie.shape_yx)
    if length_px > min(height, width):
        raise BadInput(
            f"length_px asks for {length_px} x {length_px} pixels in the middle of each frame, but "
            f"those of {movie.path.name} have {width} x {height}: ask for at most "
            f"{min(height, width)}, or leave length_px out for the whole frame"
        )
    return Crop((height - length_px) // 2, (width - length_px) // 2, (length_px, length_px))

"""Made-up frames of a counting electron camera, and what every writer asks of frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from pyscale_stages.contract import Record

_BLOCK_PX = 1 << 22
"""Pixels drawn at once, so that a frame of any size needs little more memory than itself."""
Frame = npt.NDArray[Any]
Frames = Iterable[Frame]
"""Frames of shape (Y, X), one by one; an array of shape (T, Y, X) is such a series too."""


class Camera(Record):
    """Size of a movie and how many electrons it counts."""

    frames: int = Field(ge=1, description="Frames of the movie")
    height_px: int = Field(ge=1, description="Height of a frame in pixels")
    width_px: int = Field(ge=1, description="Width of a frame in pixels")
    dose_per_px: float = Field(
        ge=0, le=100, description="Mean number of electrons on a pixel of one frame"
    )

    @property
    def pixels(self) -> int:
        """Pixels of all frames."""
        return self.frames * self.height_px * self.width_px


def counting_frames(camera: Camera, seed: int) -> Iterator[npt.NDArray[np.uint8]]:
    """Draw the frames (Y, X) of a movie one by one, as Poisson counts of electrons, at most 255."""
    for number in range(camera.frames):
        # Each frame has a stream of its own, so that a longer movie begins with the same frames.
        rng = np.random.default_rng([seed, number])
        frame = np.empty(camera.height_px * camera.width_px, np.uint8)
        for start in range(0, frame.size, _BLOCK_PX):
            block = frame[start : start + _BLOCK_PX]
            # A Poisson number of electrons spread evenly over pixels is a Poisson count in each.
            electrons = rng.poisson(camera.dose_per_px * block.size)
            hits = rng.integers(0, block.size, electrons, dtype=np.int32)
            block[:] = np.bincount(hits, minlength=block.size).clip(max=255)
        yield frame.reshape(camera.height_px, camera.width_px)


def alike(frames: Frames) -> Iterator[Frame]:
    """Yield frames one by one, and make sure that they make up a movie."""
    first: Frame | None = None
    for frame in frames:
        if first is None:
            first = frame
        if frame.ndim != 2 or (frame.shape, frame.dtype) != (first.shape, first.dtype):
            raise ValueError(
                f"a frame of shape {frame.shape} and type {frame.dtype} does not fit into a movie "
                f"that begins with shape {first.shape} and type {first.dtype}"
            )
        yield np.ascontiguousarray(frame)
    if first is None:
        raise ValueError("a movie needs at least one frame")

"""What every writer asks of the frames that it is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Frame = npt.NDArray[Any]
Frames = Iterable[Frame]
"""Frames of shape (Y, X), one by one; an array of shape (T, Y, X) is such a series too."""


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

"""Label movies in: opened, checked and read in pieces that fit in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyscale_stages.errors import BadInput
from pyscale_stages.movie import BLOCK_BYTES, Movie
from pyscale_stages.task import Task
from pyscale_stages.truth.cells import renumbered

MAX_LABEL = np.iinfo(np.uint32).max


def open_labels(task: Task) -> tuple[Movie, ...]:
    """Open the label movie, and the second cell type's where it was given."""
    first = task.label_movie("labels")
    if task.input("other_labels") is None:
        return (first,)
    other = task.label_movie("other_labels")
    for what, of_first, of_other in (
        ("frames", first.n_frames, other.n_frames),
        ("pixels (height, width)", first.shape_yx, other.shape_yx),
    ):
        if of_first != of_other:
            raise BadInput(
                f"{other.path} has {of_other} {what}, but {first.path} has {of_first}: give "
                "label movies of the same recording"
            )
    return first, other


def pieces(movies: tuple[Movie, ...], window: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Cut a window into the runs of frames that are read at once, from every movie."""
    widest = max(movies, key=lambda movie: movie.dtype.itemsize)
    return widest.blocks(*window, channel=0, block_bytes=BLOCK_BYTES // len(movies))


def read_labels(movie: Movie, start: int, stop: int) -> npt.NDArray[Any]:
    """Read label images (T, Y, X) of whole numbers from 0 to 2**32 - 1."""
    frames = movie.read(start, stop, channel=0)
    if frames.dtype.kind == "i":
        _refuse(frames < 0, "negative", movie, start)
    if frames.dtype.itemsize > 4:
        _refuse(frames > MAX_LABEL, f"larger than {MAX_LABEL}", movie, start)
    return frames


@dataclass(frozen=True)
class DenseLabels:
    """One label image with its labels renumbered without gaps, in ascending order.

    Number k of the `image` stands for `labels[k - 1]`; 0 is background.
    """

    labels: npt.NDArray[np.uint32]
    area_px: npt.NDArray[np.int64]
    image: npt.NDArray[np.uint32]


def densify(image: npt.NDArray[Any]) -> DenseLabels:
    """Renumber the labels of one image 1 to n, keeping their order."""
    # The device holds matrices of one row a label, so gaps (1, 5, 900) would cost memory and time.
    labels, dense = renumbered(image)
    area = np.bincount(dense.ravel(), minlength=len(labels) + 1)[1:]
    return DenseLabels(labels.astype(np.uint32), area, dense)


def _refuse(bad: npt.NDArray[np.bool_], problem: str, movie: Movie, start: int) -> None:
    if bad.any():
        frame = start + int(np.argmax(bad.reshape(len(bad), -1).any(axis=1)))
        raise BadInput(
            f"frame {frame} of {movie.path} has labels that are {problem}: labels must be whole "
            "numbers from 1, with 0 as background"
        )

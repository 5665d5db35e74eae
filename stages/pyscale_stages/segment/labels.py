"""Label images of a window: gathered frame by frame, written as one OME-TIFF."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pyscale_stages.contract import Window
from pyscale_stages.errors import BadInput
from pyscale_stages.framefiles import ENDINGS
from pyscale_stages.movie import Movie, Pixels
from pyscale_stages.moviewriter import (
    PackedFrames,
    open_written,
    write_chunks,
    written_in,
)
from pyscale_stages.segment.models import Labels
from pyscale_stages.segment.params import SegmentParams
from pyscale_stages.task import Task
from pyscale_stages.wording import plural

LABELS = "labels"
"""Name of the output, without the ending of its format."""
LABELS_FILE = f"{LABELS}.ome.tif"


class LabelStack(PackedFrames):
    """Label images: uint16, or uint32 where a frame has more than 65,535 cells."""

    def __init__(self) -> None:
        super().__init__(np.uint16)

    def add(self, image: Labels) -> None:
        """Add the next frame, shape (Y, X)."""
        if self._dtype == np.uint16 and image.max(initial=0) > np.iinfo(np.uint16).max:
            self.widen(np.uint32)
        super().add(image)


def open_labels(folder: Path, window: Window) -> Movie:
    """Open the labels in an output folder."""
    movie = open_written(written_in(folder, LABELS), window.frames)
    n_frames = window.frames[1] - window.frames[0]
    if movie.n_frames != n_frames or movie.n_channels != 1 or movie.dtype.kind != "u":
        raise BadInput(
            f"{movie.path} does not hold the label images of the {plural(n_frames, 'frame')} that "
            "its window names: run the stage on that window again"
        )
    return movie


def write_labels(
    task: Task[SegmentParams], stack: LabelStack, window: tuple[int, int], n_frames: int
) -> None:
    """Write the label images of a window of a movie."""
    if task.params.output_format == "ome-tiff":
        with task.writing(LABELS_FILE) as path:
            stack.write(path)
        return
    # Windows of one movie are chunks of one array, so that all have the larger type.
    with task.writing_folder(f"{LABELS}{ENDINGS['ome-zarr']}") as path:
        write_chunks(path, stack.images(), (n_frames, *stack.shape_yx), np.uint32, window[0])


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
    """The square of that side in the middle of a movie's frames; with None, the whole frame."""
    height, width = movie.shape_yx
    if length_px is None:
        return Crop(0, 0, movie.shape_yx)
    if length_px > min(height, width):
        raise BadInput(
            f"length_px asks for {length_px} x {length_px} pixels in the middle of each frame, "
            f"but those of {movie.path.name} have {width} x {height}: set at most "
            f"{min(height, width)}, or leave length_px out for the whole frame"
        )
    return Crop((height - length_px) // 2, (width - length_px) // 2, (length_px, length_px))

"""Compares label images: two outputs with each other, and one with the truth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pyscale_stages.contract import Agreement, Window
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.segment.labels import open_labels
from pyscale_stages.segment.models import Labels
from pyscale_stages.task import Task
from pyscale_stages.windows import folders_to_check, read_window

IOU = 0.5
TOLERANCE = 0.99
"""Rounding of another device or thread count can change one doubtful cell in a hundred."""


@dataclass(frozen=True)
class Matches:
    """Cells of two label images that are the same cell by their intersection over union."""

    matched: int = 0
    only_reference: int = 0
    only_other: int = 0
    identical_px: int = 0
    size_px: int = 0

    def __add__(self, more: Matches) -> Matches:
        return Matches(
            self.matched + more.matched,
            self.only_reference + more.only_reference,
            self.only_other + more.only_other,
            self.identical_px + more.identical_px,
            self.size_px + more.size_px,
        )

    @property
    def average_precision(self) -> float:
        """Matched cells among all cells of either: TP / (TP + FP + FN); 1 where none has any."""
        cells = self.matched + self.only_reference + self.only_other
        return self.matched / cells if cells else 1.0


def check(task: Task) -> Agreement:
    """Compare the labels in two folders and, where truth is given, the second with it.

    Counts are summed over the frames before the ratio is taken, so that a frame weighs as
    much as the cells it has.
    """
    reference_folder, other_folder = folders_to_check(task)
    window = read_window(other_folder)
    if read_window(reference_folder).frames != window.frames:
        raise BadInput(
            f"{reference_folder} and {other_folder} hold other frames of the movie: "
            "compare outputs of the same frames"
        )
    length = window.frames[1] - window.frames[0]
    reference = open_labels(reference_folder, length)
    other = open_labels(other_folder, length)
    if task.spec.truth is not None:
        truth = _open_truth(task.spec.truth, window)
        found = _sum(_matches_by_frame(truth, window.frames, other))
        task.set_quality(ap_iou50=found.average_precision)
    by_frame = list(_matches_by_frame(reference, (0, length), other))
    total = _sum(by_frame)
    task.count(frames=length, objects=total.matched + total.only_other)
    return Agreement(
        same=total.average_precision >= TOLERANCE,
        score=total.average_precision,
        measure=f"cells matched at IoU {IOU} among all cells of either output, over all frames",
        tolerance=TOLERANCE,
        details={
            "worst_frame": min(frame.average_precision for frame in by_frame),
            "identical_pixels": total.identical_px / total.size_px,
            "cells_reference": float(total.matched + total.only_reference),
            "cells_other": float(total.matched + total.only_other),
        },
    )


def match_cells(reference: Labels, other: Labels) -> Matches:
    """Match the cells of two label images of shape (Y, X), one to one, at IoU 0.5 or more."""
    import fastremap
    from cellpose.metrics import average_precision

    identical = int((reference == other).sum())
    # The library takes the largest label for the number of cells.
    reference, _ = fastremap.renumber(reference, in_place=False)
    other, _ = fastremap.renumber(other, in_place=False)
    n_reference, n_other = int(reference.max(initial=0)), int(other.max(initial=0))
    matched = 0
    if n_reference and n_other:
        _, true_positives, _, _ = average_precision(reference, other, threshold=[IOU])
        matched = int(true_positives[0])
    return Matches(
        matched=matched,
        only_reference=n_reference - matched,
        only_other=n_other - matched,
        identical_px=identical,
        size_px=reference.size,
    )


def _matches_by_frame(reference: Movie, frames: tuple[int, int], other: Movie) -> Iterable[Matches]:
    """Match frames start to stop of the reference with all frames of the other."""
    if reference.shape_yx != other.shape_yx:
        raise BadInput(
            f"{reference.path} has frames of {reference.shape_yx}, {other.path} of "
            f"{other.shape_yx}: compare label images of one movie"
        )
    pairs = zip(
        reference.frames(*frames, channel=0),
        other.frames(0, other.n_frames, channel=0),
        strict=True,
    )
    return (match_cells(first, second) for first, second in pairs)


def _sum(matches: Iterable[Matches]) -> Matches:
    return sum(matches, start=Matches())


def _open_truth(folder: Path, window: Window) -> Movie:
    """Open the true labels of the channel that was segmented."""
    truth = Movie.open(folder / f"labels_ch{window.params['channel']}.ome.tif")
    if truth.n_frames != window.movie_frames or not np.issubdtype(truth.dtype, np.unsignedinteger):
        raise BadInput(
            f"{truth.path} does not hold the true labels of the {window.movie_frames} frames of "
            "this movie: give the truth that was made with it"
        )
    return truth

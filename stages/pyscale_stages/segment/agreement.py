"""Compares label images: two outputs with each other, and one with the truth."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pyscale_stages.contract import Agreement, Window
from pyscale_stages.errors import BadInput
from pyscale_stages.movie import Movie
from pyscale_stages.segment.labels import Crop, open_labels
from pyscale_stages.segment.models import Labels
from pyscale_stages.segment.params import SegmentParams
from pyscale_stages.task import Task
from pyscale_stages.truth.cells import AGREEMENT_IOU, Matches, match_cells, summed
from pyscale_stages.windows import common_window, folders_to_check, same_bytes

TOLERANCE = 0.99
"""Rounding of another device or thread count can change one doubtful cell in a hundred."""


def check(task: Task) -> Agreement:
    """Compare the labels in two folders and, where truth is given, the second with it."""
    reference_folder, other_folder = folders_to_check(task)
    window = common_window(reference_folder, other_folder)
    length = window.frames[1] - window.frames[0]
    reference, other = (open_labels(each, window) for each in (reference_folder, other_folder))
    if task.spec.truth is not None:
        found = summed(_matches_with_truth(task, task.spec.truth, window, other))
        if found != Matches():
            task.set_quality(ap_iou50=found.average_precision)
        if found.cells_reference:
            # SEG of the Cell Tracking Challenge (Maška et al. 2014).
            task.set_quality(ctc_seg=found.jaccard / found.cells_reference)
    if reference.shape_yx != other.shape_yx:
        raise BadInput(
            f"{reference.path} has frames of {reference.shape_yx}, but {other.path} of "
            f"{other.shape_yx}: compare label images of one movie"
        )
    pairs = zip(*(movie.frames(0, length, channel=0) for movie in (reference, other)), strict=True)
    by_frame = [match_cells(*pair) for pair in pairs]
    total = summed(by_frame)
    task.count(frames=length, objects=total.cells_other)
    return Agreement(
        same=total.close_precision >= TOLERANCE,
        identical=same_bytes(reference_folder, other_folder, (reference.path.name,)),
        score=total.close_precision,
        measure=(
            f"cells matched at IoU {AGREEMENT_IOU} among all cells of either output, over all "
            "frames"
        ),
        tolerance=TOLERANCE,
        details={
            "ap_iou50": total.average_precision,
            "ap_iou90": total.close_precision,
            "worst_frame": min(frame.close_precision for frame in by_frame),
            "identical_pixels": total.identical_px / total.size_px,
            "cells_reference": float(total.cells_reference),
            "cells_other": float(total.cells_other),
        },
    )


def _matches_with_truth(task: Task, path: Path, window: Window, other: Movie) -> Iterator[Matches]:
    """Match true labels with those of the window's frames, where these have true ones."""
    # Outputs of earlier versions name no length: they hold whole frames.
    length_px = SegmentParams.model_validate(window.params).length_px
    first = window.frames[0]
    for frame, true in _true_frames(task, path, window):
        (height, width), (rows, columns) = true.shape, other.shape_yx
        if rows > height or columns > width or (length_px is None and true.shape != other.shape_yx):
            raise BadInput(
                f"the truth {path} has images of {true.shape}, but {other.path} has labels of "
                f"{other.shape_yx} pixels: name the truth of this movie"
            )
        crop = Crop((height - rows) // 2, (width - columns) // 2, other.shape_yx)
        (found,) = other.read(frame - first, frame - first + 1, channel=0)
        yield match_cells(crop.of(true), found)


def _true_frames(task: Task, path: Path, window: Window) -> Iterator[tuple[int, Labels]]:
    """True labels of a window's frames with their numbers; those of the segmented channel."""
    # It reads tables as well, whose library a check without truth does without.
    from pyscale_stages.truth.reading import kind_of, own_labels

    if kind_of(path) != "synthetic":
        own = own_labels(path)
        own.refuse_unfit(window.movie_frames)
        return own.frames(*window.frames)
    truth = task.counted(Movie.open(path / f"labels_ch{window.params['channel']}.ome.tif"))
    if truth.n_frames != window.movie_frames or not np.issubdtype(truth.dtype, np.unsignedinteger):
        raise BadInput(
            f"{truth.path} does not hold the true labels of the {window.movie_frames} frames of "
            "this movie: name the truth that was made with it"
        )
    return enumerate(truth.frames(*window.frames, channel=0), window.frames[0])

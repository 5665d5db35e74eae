"""Agreement of two outputs on their tracks, and correctness of one where the truth is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sized
from pathlib import Path

import numpy as np
import polars as pl

from pyscale_stages.contract import Agreement
from pyscale_stages.errors import BadInput
from pyscale_stages.task import Task
from pyscale_stages.track.lineage import (
    SPLITS_FILE,
    TRACKS_FILE,
    Detections,
    Ints,
    Tracks,
    links_of,
    of_table,
    read_tracks,
    rows_of,
    unbroken,
)
from pyscale_stages.truth.reading import kind_of, own_tracks
from pyscale_stages.windows import common_window, folders_to_check, same_bytes

TOLERANCE = 0.999
MATCH_PX = 5.0
"""Farthest that a detection lies from the true centroid that it stands for."""


def check(task: Task) -> Agreement:
    """Compare the links of two outputs, and those of the second with the truth if given."""
    reference, other = folders_to_check(task)
    frames = common_window(reference, other).frames
    # Beyond its own frames a window holds what it read as context.
    expected, found = (read_tracks(folder).within(*frames) for folder in (reference, other))
    if task.spec.truth is not None:
        task.set_quality(**link_quality(found, task.spec.truth, frames))
    identical = same_bytes(reference, other, (TRACKS_FILE, SPLITS_FILE))
    return agreement(expected, found, identical=identical)


def agreement(expected: Tracks, found: Tracks, *, identical: bool) -> Agreement:
    """How far two outputs link the same detections; splits are links too."""
    # Cells are compared as well, as outputs without any link would otherwise always agree.
    links = [tracks.detections.keys[links_of(tracks)] for tracks in (expected, found)]
    precision, recall, links_f1 = _shared(*links)
    *_, cells_f1 = _shared(*(tracks.detections.keys[:, None] for tracks in (expected, found)))
    score = min(links_f1, cells_f1)
    return Agreement(
        same=score >= TOLERANCE,
        identical=identical,
        score=score,
        measure="the smaller of the F1 of links between (frame, label) and the F1 of cells",
        tolerance=TOLERANCE,
        details={
            "link_precision": precision,
            "link_recall": recall,
            "links_reference": float(len(links[0])),
            "links_other": float(len(links[1])),
            "cells_f1": cells_f1,
        },
    )


def _shared(expected: Ints, found: Ints) -> tuple[float, float, float]:
    """Precision, recall and F1 of the rows of two sets; a share of nothing is 1."""
    shared = len(set(map(tuple, expected.tolist())) & set(map(tuple, found.tolist())))
    both = len(expected) + len(found)
    return (
        shared / len(found) if len(found) else 1.0,
        shared / len(expected) if len(expected) else 1.0,
        2 * shared / both if both else 1.0,
    )


def link_quality(found: Tracks, truth: Path, frames: tuple[int, int]) -> dict[str, float]:
    """Compare links with the true ones.

    Detections are matched to true centroids one to one within `MATCH_PX`. A true link joins two
    matched cells that follow each other, after unmatched ones are left out: link measures judge the
    tracking, detection measures the segmentation before it. A division is right where the mother
    and all her daughters are.
    """
    candidates = [channel.within(*frames) for channel in _true_tracks(truth)]
    matches = [_matched(found.detections, true.detections) for true in candidates]
    # Of several channels the tracked one is that which most detections match.
    best = int(np.argmax([len(pairs) for pairs in matches]))
    true, pairs = candidates[best], matches[best]

    detection_of = np.full(len(true.detections), -1, dtype=np.int64)
    detection_of[pairs[:, 1]] = pairs[:, 0]
    matched = detection_of >= 0
    kept = Tracks(true.detections.where(matched), true.track_id[matched], true.splits)
    kept = kept.within(*frames)
    true_links = detection_of[matched][links_of(kept)]

    expected = set(map(tuple, true_links.tolist()))
    given = set(map(tuple, links_of(found).tolist()))
    right = len(expected & given)
    # A share of nothing is left out: without links, their precision is no 1.
    shares: dict[str, tuple[int, Sized]] = {
        "link_precision": (right, given),
        "link_recall": (right, expected),
    }
    true_divisions, divisions = _divisions(expected), _divisions(given)
    right = len(true_divisions & divisions)
    shares |= {"division_precision": (right, divisions), "division_recall": (right, true_divisions)}
    return {
        **{name: count / len(of) for name, (count, of) in shares.items() if of},
        "detection_precision": len(pairs) / max(1, len(found.detections)),
        "detection_recall": len(pairs) / max(1, len(true.detections)),
        **(ctc_measures(found, true, pairs, frames) if kind_of(truth) == "ctc" else {}),
    }


def _divisions(links: Iterable[tuple[int, int]]) -> set[tuple[int, frozenset[int]]]:
    """Each cell with two successors or more, and these."""
    daughters = defaultdict(set)
    for earlier, later in links:
        daughters[earlier].add(later)
    return {(cell, frozenset(those)) for cell, those in daughters.items() if len(those) > 1}


def _true_tracks(truth: Path) -> list[Tracks]:
    """The true tracks of each channel."""
    table = own_tracks(truth).sort("frame", "track_id")
    if table.is_empty():
        raise BadInput(f"{truth} holds no track: name the truth folder of a synthetic movie")
    channels = []
    for part in table.partition_by("channel", maintain_order=True):
        parents = (
            part.select("parent_id", "track_id").cast(pl.Int64).filter(pl.col("parent_id") > 0)
        )
        channels.append(of_table(part, "track_id", np.unique(parents.to_numpy(), axis=0)))
    return channels


def _matched(found: Detections, true: Detections) -> Ints:
    """Positions of detections and of true cells that stand for each other, shape (m, 2)."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    pairs = []
    for frame in np.intersect1d(found.frame, true.frame):
        here = np.flatnonzero(found.frame == frame)
        there = np.flatnonzero(true.frame == frame)
        distance_px = cdist(
            np.stack([found.y_px[here], found.x_px[here]], axis=1),
            np.stack([true.y_px[there], true.x_px[there]], axis=1),
        )
        # A pair beyond the limit costs as much as none, so it displaces no real pair.
        a, b = linear_sum_assignment(np.minimum(distance_px, MATCH_PX))
        near = distance_px[a, b] < MATCH_PX
        pairs.append(np.stack([here[a[near]], there[b[near]]], axis=1))
    return np.concatenate(pairs) if pairs else np.zeros((0, 2), dtype=np.int64)


def ctc_measures(
    found: Tracks, true: Tracks, pairs: Ints, frames: tuple[int, int]
) -> dict[str, float]:
    """Measure two graphs of tracks by what makes one into the other (Matula et al. 2015).

    The challenge matches masks; here centroids are matched, `pairs` of positions, which is the same
    where the labels tracked are those of the truth. Without a true link there are no measures.
    """
    # One frame has no links, and of none the library counts nothing.
    if frames[1] - frames[0] < 2 or not (len(found.detections) and len(true.detections)):
        return {}
    from ctc_metrics.metrics import det, lnk, tra
    from ctc_metrics.utils.representations import count_acyclic_graph_correction_operations

    # A track of the challenge has no hole: what goes on after one is judged as it is exported.
    (true, true_parents), (found, found_parents) = unbroken(true), unbroken(found)
    costs = count_acyclic_graph_correction_operations(
        # The library takes the first list for frame 0.
        rows_of(true, true_parents) - [0, frames[0], frames[0], 0],
        rows_of(found, found_parents) - [0, frames[0], frames[0], 0],
        # The library takes the labels of a frame for sorted, as those of masks are.
        _by_frame(true, np.argsort(true.track_id), frames),
        _by_frame(found, np.argsort(found.track_id), frames),
        _by_frame(true, pairs[:, 1], frames),
        _by_frame(found, pairs[:, 0], frames),
    )
    if not costs["num_edges"]:
        return {}
    return {"ctc_det": det(**costs), "ctc_tra": tra(**costs)[0], "ctc_lnk": lnk(**costs)}


def _by_frame(tracks: Tracks, places: Ints, frames: tuple[int, int]) -> list[list[int]]:
    """Tracks of the detections at these places, a list for each frame."""
    frame = tracks.detections.frame[places]
    ids = tracks.track_id[places]
    return [ids[frame == one].tolist() for one in range(*frames)]

"""How right the links are, where the true tracks are known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sized
from pathlib import Path

import numpy as np

from pyscale_stages.errors import BadInput
from pyscale_stages.track.ctcmeasures import ctc_measures
from pyscale_stages.track.detections import Detections, Ints
from pyscale_stages.track.lineage import Tracks, links_of
from pyscale_stages.track.tables import TRACKS_FILE, read_table
from pyscale_stages.truth.reading import kind_of, own_tracks

MATCH_PX = 5.0
"""Farthest that a detection lies from the true centroid that it stands for."""


def link_quality(found: Tracks, truth: Path, frames: tuple[int, int]) -> dict[str, float]:
    """Compare links with the true ones.

    Detections are matched to true centroids one to one within `MATCH_PX`, frame by frame.
    A true link joins two matched cells that follow each other in one true track, or the
    last of a parent and the first of its child, after unmatched cells are left out: so the
    link measures judge the tracking, and the detection measures the segmentation before it.

    Parameters
    ----------
    found : Tracks
        Output within the frames.
    truth : Path
        Folder with the true `tracks.parquet`, or one of the Cell Tracking Challenge. Of several
        channels, the one that matches most detections is the one that was segmented.
    frames : tuple of int
        First frame and end (excluded) that the output holds.

    Returns
    -------
    dict
        `link_precision`, `link_recall`, `detection_precision` and `detection_recall`, and
        where there are any, `division_precision` and `division_recall`: a division is right
        where the mother and all her daughters are. With a truth of the Cell Tracking Challenge
        also its own measures (`ctc_measures`).

    Raises
    ------
    BadInput
        If the truth cannot be read.
    """
    candidates = [channel.within(*frames) for channel in _true_tracks(truth / TRACKS_FILE)]
    matches = [_matched(found.detections, true.detections) for true in candidates]
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
    shares |= {
        "division_precision": (right, divisions),
        "division_recall": (right, true_divisions),
    }
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


def _true_tracks(path: Path) -> list[Tracks]:
    """The true tracks of each channel."""
    columns = ("channel", "track_id", "parent_id", "frame", "y_px", "x_px")
    synthetic = kind_of(path.parent) == "synthetic"
    table = read_table(path, columns) if synthetic else own_tracks(path.parent)
    table = table.sort("frame", "track_id")
    if table.is_empty():
        raise BadInput(f"{path} holds no track: give the truth folder of a synthetic movie")
    channels = []
    for part in table.partition_by("channel", maintain_order=True):
        ids = part["track_id"].cast(int).to_numpy()
        parents = np.stack([part["parent_id"].cast(int).to_numpy(), ids], axis=1)
        channels.append(
            Tracks(
                detections=Detections(
                    frame=part["frame"].cast(int).to_numpy(),
                    label=ids,
                    y_px=part["y_px"].to_numpy(),
                    x_px=part["x_px"].to_numpy(),
                ),
                track_id=ids,
                splits=np.unique(parents[parents[:, 0] > 0], axis=0),
            )
        )
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

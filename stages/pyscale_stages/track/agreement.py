"""Agreement of two outputs on their tracks, and correctness of one."""

from __future__ import annotations

from pyscale_stages.contract import Agreement
from pyscale_stages.task import Task
from pyscale_stages.track.detections import Ints
from pyscale_stages.track.lineage import Tracks, links_of
from pyscale_stages.track.tables import SPLITS_FILE, TRACKS_FILE, read_tracks
from pyscale_stages.track.truth import link_quality
from pyscale_stages.windows import common_window, folders_to_check, same_bytes

TOLERANCE = 0.999


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
    """How far two outputs link the same detections.

    A link is a pair of (frame, label); splits are links too. F1 is the harmonic mean of
    precision and recall. Cells are compared as well, as outputs without any link would
    otherwise always agree.
    """
    links = _Overlap(_link_keys(expected), _link_keys(found))
    cells = _Overlap(expected.detections.keys[:, None], found.detections.keys[:, None])
    score = min(links.f1, cells.f1)
    return Agreement(
        same=score >= TOLERANCE,
        identical=identical,
        score=score,
        measure="the smaller of the F1 of links between (frame, label) and the F1 of cells",
        tolerance=TOLERANCE,
        details={
            "link_precision": links.precision,
            "link_recall": links.recall,
            "links_reference": float(links.expected),
            "links_other": float(links.found),
            "cells_f1": cells.f1,
        },
    )


class _Overlap:
    """Two sets of rows and what they share; a share of nothing is 1."""

    def __init__(self, expected: Ints, found: Ints) -> None:
        self.expected = len(expected)
        self.found = len(found)
        shared = len(set(map(tuple, expected.tolist())) & set(map(tuple, found.tolist())))
        self.precision = shared / self.found if self.found else 1.0
        self.recall = shared / self.expected if self.expected else 1.0
        both = self.expected + self.found
        self.f1 = 2 * shared / both if both else 1.0


def _link_keys(tracks: Tracks) -> Ints:
    return tracks.detections.keys[links_of(tracks)]

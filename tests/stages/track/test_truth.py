"""The challenge's measures of tracks, from matched detections."""

from __future__ import annotations

import numpy as np
import pytest

from pyscale_stages.track.agreement import ctc_measures
from pyscale_stages.track.detections import Detections
from pyscale_stages.track.lineage import Tracks, tracks_of

FRAMES = np.array([3, 4, 4, 5, 5])
"""A mother in frame 3, her daughters in frames 4 and 5."""
TRUE_LINKS = [(0, 1), (0, 2), (1, 3), (2, 4)]


def tracks(links: list[tuple[int, int]], frames: np.ndarray = FRAMES) -> Tracks:
    place = np.arange(len(frames))
    detections = Detections(frames, place + 1, place.astype(float), place.astype(float))
    return tracks_of(detections, np.array(links, np.int64).reshape(-1, 2))


@pytest.mark.parametrize(
    ("links", "lnk"),
    [
        (TRUE_LINKS, 1.0),
        # One link of four is missing, at a cost of 1.5 each.
        ([(0, 1), (0, 2), (1, 3)], 0.75),
        # Without one daughter the mother goes on: one link is missing and one is of another kind.
        ([(0, 1), (1, 3), (2, 4)], 1 - 2.5 / 6),
        ([], 0.0),
    ],
)
def test_links_cost_what_the_challenge_says(links, lnk):
    pairs = np.stack([np.arange(5)] * 2, axis=1)
    found = ctc_measures(tracks(links), tracks(TRUE_LINKS), pairs, (3, 6))
    assert found["ctc_det"] == 1
    assert found["ctc_lnk"] == pytest.approx(lnk)
    assert found["ctc_tra"] == pytest.approx((50 + 6 * lnk) / 56)


def test_labels_in_another_order_than_tracks_are_the_same_cells():
    frames = np.array([0, 0, 1, 1, 2, 2])
    true = tracks([(0, 3), (1, 2), (2, 4), (3, 5)], frames)
    pairs = np.stack([np.arange(6)] * 2, axis=1)
    assert ctc_measures(true, true, pairs, (0, 3))["ctc_lnk"] == 1


def test_a_cell_that_was_not_found_costs_its_links_too():
    pairs = np.stack([np.arange(4)] * 2, axis=1)
    found = ctc_measures(tracks(TRUE_LINKS[:3], FRAMES[:4]), tracks(TRUE_LINKS), pairs, (3, 6))
    assert found["ctc_det"] == pytest.approx(0.8)
    assert found["ctc_lnk"] == pytest.approx(0.75)


def test_a_gap_in_a_track_is_no_fault():
    frames = np.array([0, 2, 3])
    gap = tracks([(0, 1), (1, 2)], frames)
    pairs = np.stack([np.arange(3)] * 2, axis=1)
    assert ctc_measures(gap, gap, pairs, (0, 4))["ctc_tra"] == 1


def test_where_nothing_is_linked_or_found_nothing_is_measured():
    none = np.zeros((0, 2), np.int64)
    assert ctc_measures(tracks([], FRAMES[:0]), tracks(TRUE_LINKS), none, (3, 6)) == {}
    one = tracks([], FRAMES[:1])
    assert ctc_measures(one, one, np.array([[0, 0]]), (3, 4)) == {}

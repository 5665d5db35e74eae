from dataclasses import replace

import numpy as np
import pytest

from pyscale_stages.errors import ResourceExhausted
from pyscale_stages.measure import cgroups
from pyscale_stages.track.detections import Detections
from pyscale_stages.track.distances import Distances
from pyscale_stages.track.laptrack_backend import link, refuse_beyond_memory
from pyscale_stages.track.lineage import tracks_of
from pyscale_stages.track.params import TrackParams
from refusals import refused

NEAR = Distances(max_distance_px=15, gap_distance_px=15, splitting_distance_px=15)


def detections(cells):
    table = np.array(sorted(cells), dtype=float).reshape(-1, 3)
    frame = table[:, 0].astype(np.int64)
    label = np.concatenate([np.arange(n) + 1 for n in np.bincount(frame)]) if len(frame) else frame
    return Detections(frame, label, table[:, 1], table[:, 2])


def track_ids(cells, frames, distances=NEAR, **params):
    found = detections(cells)
    links = link(found, 0, frames, TrackParams.model_validate(params), distances)
    return [int(track) for track in tracks_of(found, links).track_id]


def test_cells_that_move_keep_their_tracks_and_one_that_jumps_beyond_the_limit_begins_one():
    cells = [(t, 20.0, 10.0 + 5 * t) for t in range(6)]
    cells += [(t, 60.0, 40.0 - 5 * t) for t in range(6)]
    assert track_ids(cells, 6) == [1, 2] * 6
    cells = [(0, 10.0, 10.0), (1, 10.0, 26.0)]
    assert track_ids(cells, 2) == [1, 2]
    assert track_ids(cells, 2, replace(NEAR, max_distance_px=17)) == [1, 1]


@pytest.mark.parametrize(("lost_frames", "gap_frames"), [(1, 2), (4, 5)])
def test_a_lost_cell_is_found_again_within_the_gap(lost_frames, gap_frames):
    back = lost_frames + 2
    cells = [(0, 10.0, 10.0), (1, 10.0, 11.0), (back, 10.0, 14.0)]
    # Other cells keep moving, as in any movie.
    cells += [(t, 80.0, 20.0 + t) for t in range(back + 1)]
    closed = track_ids(cells, back + 1, gap_frames=gap_frames)
    assert closed[0] == closed[-2]
    left_open = track_ids(cells, back + 1, gap_frames=gap_frames - 1)
    assert left_open[0] != left_open[-2]


@pytest.mark.parametrize(
    ("splitting", "farthest_px", "splits"),
    [(True, 8, [[1, 2], [1, 3]]), (True, 3, []), (False, 8, [])],
)
def test_a_division_is_followed_where_splitting_is_on_as_far_as_its_own_limit(
    splitting, farthest_px, splits
):
    cells = [(t, 30.0, 30.0) for t in range(3)]
    cells += [(t, 30.0 + side * (4 + t), 30.0) for t in range(3, 6) for side in (-1, 1)]
    found = detections(cells)
    distances = Distances(15, 15, farthest_px)
    tracks = tracks_of(found, link(found, 0, 6, TrackParams(splitting=splitting), distances))
    assert tracks.splits.tolist() == splits


@pytest.mark.parametrize("gap_frames", [1, 2])
def test_a_move_is_no_division_with_one_daughter(gap_frames):
    cells = [(0, 10.0, 10.0), (1, 10.0, 16.0)]
    assert track_ids(cells, 2, Distances(5, 5, 9), gap_frames=gap_frames) == [1, 2]


@pytest.mark.parametrize("frames_with_cells", [[0], [3], [0, 6], [2, 3, 6]])
def test_frames_without_cells_are_no_obstacle(frames_with_cells):
    cells = [(t, 10.0, 10.0 + t) for t in frames_with_cells]
    ids = track_ids(cells, 7, splitting=True)
    expected = {1: [1], 2: [1, 2], 3: [1, 1, 2]}[len(cells)]
    assert ids == expected


def test_what_happens_elsewhere_in_the_window_changes_no_link():
    """laptrack's own costs of unlinked ends are a percentile over the window."""
    here = [(0, 10.0, 10.0), (1, 10.0, 10.0), (3, 10.0, 24.0), (4, 10.0, 24.0)]
    busy = [(t, 200.0 + 50 * i, 10.0) for i in range(12) for t in (0, 1, 3, 4)]
    alone = track_ids(here, 5)
    among_others = track_ids(here + busy, 5)
    assert alone == [1, 1, 1, 1]
    assert [among_others[i] for i in (0, 13, 26, 39)] == alone


def test_more_cells_than_memory_holds_are_refused_with_the_way_out(monkeypatch):
    crowded = detections([(t, float(i), 0.0) for t in (4, 5) for i in range(100)])
    monkeypatch.setattr(cgroups, "usable_bytes", lambda: 9 * 100 * 100)
    refuse_beyond_memory(crowded)
    monkeypatch.setattr(cgroups, "usable_bytes", lambda: 9 * 100 * 100 - 1)
    with refused(ResourceExhausted):
        refuse_beyond_memory(crowded)

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pyscale_stages.errors import ResourceExhausted
from pyscale_stages.measure import cgroups
from pyscale_stages.movie import Movie
from pyscale_stages.track import linking
from pyscale_stages.track.distances import Distances, distances_of
from pyscale_stages.track.lineage import Detections, detect, joined, tracks_of
from pyscale_stages.track.linking import link_by_laptrack, refuse_beyond_memory
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
    links = link_by_laptrack(found, 0, frames, TrackParams.model_validate(params), distances)
    return [int(track) for track in tracks_of(found, links).track_id]


def test_cells_that_move_keep_their_tracks_and_one_that_jumps_beyond_the_limit_begins_one():
    cells = [(t, 20.0, 10.0 + 5 * t) for t in range(6)]
    cells += [(t, 60.0, 40.0 - 5 * t) for t in range(6)]
    assert track_ids(cells, 6) == [1, 2] * 6
    cells = [(0, 10.0, 10.0), (1, 10.0, 26.0)]
    assert track_ids(cells, 2) == [1, 2]
    assert track_ids(cells, 2, replace(NEAR, max_distance_px=17)) == [1, 1]


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
    tracks = tracks_of(
        found, link_by_laptrack(found, 0, 6, TrackParams(splitting=splitting), distances)
    )
    assert tracks.splits.tolist() == splits


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


def made_cells(random, n_frames, n_cells, *, on_a_grid):
    """Cells that wander, divide and are lost, frame by frame; some frames are empty."""
    side_px = 30 * np.sqrt(n_cells)
    centres = random.uniform(0, side_px, (n_cells, 2))
    for _ in range(n_frames):
        daughters = centres[random.random(len(centres)) < 0.04]
        moved = centres + random.normal(0, 2, centres.shape)
        centres = np.concatenate([moved, daughters + random.normal(0, 7, daughters.shape)])
        seen = centres[random.random(len(centres)) > random.choice([0.05, 0.05, 0.3, 1])]
        # Of pixels that are whole numbers many are equally far apart.
        yield np.round(seen / 3) * 3 if on_a_grid else seen


def detections_of(frames, start):
    cells = np.concatenate(frames)
    counts = [len(frame) for frame in frames]
    labels = np.concatenate([np.arange(count) + 1 for count in counts])
    return Detections(np.repeat(np.arange(start, start + len(frames)), counts), labels, *cells.T)


def assert_same_links(cells, start, stop, params, distances):
    expected = linking.link_by_laptrack(cells, start, stop, params, distances)
    np.testing.assert_array_equal(linking.link_sparsely(cells, params, distances), expected)
    return expected


@given(
    st.integers(0, 10**6),
    st.integers(1, 9),
    st.integers(1, 25),
    st.booleans(),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from([(15, 15, 15), (8, 20, 12), (20, 6, 9)]),
)
@settings(max_examples=60, deadline=None)
def test_links_are_laptracks(seed, n_frames, n_cells, on_a_grid, gap_frames, splitting, reach_px):
    random = np.random.default_rng(seed)
    cells = detections_of(list(made_cells(random, n_frames, n_cells, on_a_grid=on_a_grid)), 3)
    assume(len(cells))
    params = TrackParams(gap_frames=gap_frames, splitting=splitting)
    assert_same_links(cells, 3, 3 + n_frames, params, Distances(*reach_px))


@pytest.mark.slow
@pytest.mark.parametrize("gap_frames", [1, 2, 5])
def test_links_of_a_real_movie_are_laptracks(hela_labels, gap_frames):
    labels = Movie.open(hela_labels)
    cells = joined(detect(image, t) for t, image in enumerate(labels.frames(0, 92, channel=0)))
    params = TrackParams(gap_frames=gap_frames)
    links = assert_same_links(cells, 0, 92, params, distances_of(labels, params))
    assert len(links) > 8000
    assert (np.bincount(links[:, 0]) == 2).sum() > 50

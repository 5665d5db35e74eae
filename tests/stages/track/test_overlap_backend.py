import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscale_stages.track.lineage import detect, joined, tracks_of
from pyscale_stages.track.overlap_backend import OverlapLinker
from pyscale_stages.track.params import TrackParams


def links(rows, start=0, **params):
    """Link frames of one row of pixels; each link is frame and label, before and after."""
    linker = OverlapLinker(TrackParams.model_validate({"backend": "overlap", **params}))
    cells = []
    for frame, row in enumerate(rows[start:], start):
        image = np.array([row], dtype=np.uint16)
        cells.append(detect(image, frame))
        linker.add(image, cells[-1])
    found = joined(cells)
    tracks_of(found, linker.links)  # which refuses a cell with two predecessors
    ends = [tuple(zip(found.frame[ids], found.label[ids], strict=True)) for ids in linker.links]
    return [(int(a), int(b), int(c), int(d)) for (a, b), (c, d) in ends]


ONE, NONE = [7, 7, 7, 7, 0, 0], [0] * 6
CASES = {
    "the most covered": (
        [[1, 1, 1, 2, 2, 2], [5, 5, 5, 5, 5, 9]],
        {},
        [(0, 1, 1, 5), (0, 2, 1, 9)],
    ),
    "the smaller label of two equal": (
        [[3, 3, 2, 2, 0, 0], [5, 5, 5, 5, 0, 0]],
        {},
        [(0, 2, 1, 5)],
    ),
    "none without overlap": ([ONE, [0, 0, 0, 0, 7, 7]], {}, []),
    "a division": ([ONE, [1, 1, 2, 2, 0, 0]], {}, [(0, 7, 1, 1), (0, 7, 1, 2)]),
    "no division unless allowed": ([ONE, [1, 1, 1, 2, 0, 0]], {"splitting": False}, [(0, 7, 1, 1)]),
    "no third daughter": ([ONE, [1, 1, 2, 3, 0, 0]], {}, [(0, 7, 1, 1), (0, 7, 1, 2)]),
    "a gap": ([ONE, NONE, ONE], {}, [(0, 7, 2, 7)]),
    "no gap beyond gap_frames": ([ONE, NONE, NONE, ONE], {}, []),
    "a longer gap": ([ONE, NONE, NONE, ONE], {"gap_frames": 3}, [(0, 7, 3, 7)]),
    "no gap across a cell that went on": ([ONE, [4] * 4 + [0, 0], [0] * 6], {}, [(0, 7, 1, 4)]),
}


@pytest.mark.parametrize("name", CASES)
def test_cells_are_linked_to(name):
    rows, params, expected = CASES[name]
    assert links(rows, **params) == expected


def test_a_rim_on_a_neighbour_is_no_link_and_large_labels_cost_no_memory():
    neighbour, moved = [1] * 10 + [0] * 30, [0] * 9 + [1] * 30 + [0]
    assert links([neighbour, moved]) == []
    image = np.array([[2**31 - 1, 0, 4]], dtype=np.uint32)
    linker = OverlapLinker(TrackParams(backend="overlap"))
    for frame in range(2):
        linker.add(image, detect(image, frame))
    assert linker.links.tolist() == [[0, 2], [1, 3]]


@given(
    st.lists(st.lists(st.integers(0, 4), min_size=12, max_size=12), min_size=3, max_size=9),
    st.integers(1, 4),
    st.booleans(),
    st.data(),
)
def test_links_to_a_frame_need_no_more_than_gap_frames_before_it(rows, gap_frames, splitting, data):
    params = {"gap_frames": gap_frames, "splitting": splitting}
    first = data.draw(st.integers(0, len(rows) - 1))
    whole = [link for link in links(rows, **params) if link[2] >= first]
    window = links(rows, start=max(0, first - gap_frames), **params)
    assert [link for link in window if link[2] >= first] == whole

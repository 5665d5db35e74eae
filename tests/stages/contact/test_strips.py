import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pyscale_stages.contact.labels import densify
from pyscale_stages.contact.strips import STRIP_CAPACITY, capacity_for, layout_of, strips_of


def grid(rows, columns, side):
    """Square cells without gaps."""
    return np.kron(
        np.arange(1, rows * columns + 1, dtype=np.uint32).reshape(rows, columns),
        np.ones((side, side), np.uint32),
    )


@pytest.mark.parametrize("n_cells", [0, 1, 254, 255, 5000])
def test_the_capacity_leaves_room_for_background_and_marker(n_cells):
    assert capacity_for(n_cells) >= n_cells + 2


@pytest.mark.parametrize(
    ("types", "layout"),
    [
        ([grid(20, 25, 4)], (80, 512, 512)),
        # 16 strips of 60 rows cross 16 or 17 rows of 30 cells, 8 of 120 rows more than 30.
        ([grid(240, 30, 4)], (60, 512, 8192)),
        ([grid(16, 30, 4)], (64, 512, 512)),
        ([grid(16, 30, 4)] * 2, (32, 512, 1024)),
        ([np.arange(1, 3001, dtype=np.uint32).reshape(3, 1000)], (1, 1024, 4096)),
    ],
    ids=["few cells", "a crowd", "one type", "cells of both types", "a row of many labels"],
)
def test_a_frame_is_cut_until_its_strips_have_few_labels_and_a_row_is_not(types, layout):
    found = layout_of([densify(image) for image in types])
    assert (found.height, found.strip_capacity, found.frame_capacity) == layout


@given(arrays(np.uint16, st.tuples(st.integers(1, 40), st.just(50)), elements=st.integers(0, 3000)))
def test_strips_hold_the_frame_and_fit_their_layout(image):
    types = [densify(image), densify(image[::-1])]
    layout = layout_of(types)
    strips = list(strips_of(types, layout.height))
    assert layout.strip_capacity <= STRIP_CAPACITY
    assert max(sum(len(c.labels) for c in strip) for strip in strips) + 2 <= layout.strip_capacity
    assert {cells.image.shape for strip in strips for cells in strip} == {(layout.height, 50)}
    for place, cells in enumerate(types):
        numbered = [np.append(np.uint32(0), s[place].labels)[s[place].image] for s in strips]
        assert np.array_equal(np.concatenate(numbered)[: len(image)], cells.image)

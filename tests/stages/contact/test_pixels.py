import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pyscale_stages.contact.labels import densify
from pyscale_stages.contact.pixels import capacity_for, fits_sums, measure
from pyscale_stages.errors import ResourceExhausted
from refusals import refused

# One shape: kernels are built for one size, which takes a second, and then work in no time.
SHAPE = (9, 11)
LABELS = st.sampled_from([0, 0, 1, 5, 900, 70_000, 2**32 - 1])
IMAGES = arrays(np.uint32, SHAPE, elements=LABELS) | arrays(
    np.uint32, SHAPE, elements=LABELS, fill=st.just(0)
)
STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))
many = settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def counted(a, b, steps):
    """Pairs of labels at each pixel of a and the pixels of b beside it, one by one."""
    found = Counter()
    for y, x in np.ndindex(a.shape):
        for dy, dx in steps:
            v, w = y + dy, x + dx
            if 0 <= v < a.shape[0] and 0 <= w < a.shape[1] and a[y, x] and b[v, w]:
                found[int(a[y, x]), int(b[v, w])] += 1
    return found


def lengths(contacts, column="contact_px"):
    return {(row["label_a"], row["label_b"]): row[column] for row in contacts.iter_rows(named=True)}


@pytest.mark.parametrize(("n_cells", "capacity"), [(0, 256), (254, 256), (255, 512), (4094, 4096)])
def test_the_capacity_leaves_room_for_background_and_marker(n_cells, capacity):
    assert capacity_for([densify(np.arange(n_cells + 1).reshape(1, -1))]) == capacity


@many
@given(images=st.lists(IMAGES, min_size=1, max_size=2))
def test_contacts_are_the_pairs_of_pixels_at_or_beside_each_other(measured_by_each, images):
    tables = measured_by_each(*images)
    of_two = len(images) == 2
    pairs = counted(images[0], images[-1], ((0, 0), *STEPS) if of_two else STEPS)
    pairs = {(a, b): n for (a, b), n in pairs.items() if of_two or a < b}
    assert lengths(tables["contacts"]) == pairs
    overlaps = {pair: n for pair, n in lengths(tables["contacts"], "overlap_px").items() if n}
    assert overlaps == (counted(*images, ((0, 0),)) if of_two else {})
    ends = Counter((0, a) for a, _ in pairs) + Counter((len(images) - 1, b) for _, b in pairs)
    for cell_type, label, count in (
        tables["cells"].select("cell_type", "label", "n_touching").rows()
    ):
        assert count == ends[cell_type, label]


@many
@given(images=st.lists(IMAGES, min_size=1, max_size=2))
def test_cells_have_their_area_centroid_and_nearest_cell(measured_by_each, images):
    cells = measured_by_each(*images)["cells"]
    true = {
        (cell_type, int(label)): np.argwhere(image == label)
        for cell_type, image in enumerate(images)
        for label in np.unique(image[image > 0])
    }
    assert cells.select("cell_type", "label").rows() == sorted(true)
    for cell in cells.iter_rows(named=True):
        key = cell["cell_type"], cell["label"]
        assert cell["area_px"] == len(true[key])
        assert (cell["y_px"], cell["x_px"]) == pytest.approx(true[key].mean(axis=0), abs=1e-5)
        away = {
            other: float(np.hypot(*(true[other].mean(axis=0) - true[key].mean(axis=0))))
            for other in true
            if (other != key if len(images) == 1 else other[0] != key[0])
        }
        if not away:
            assert cell["nearest_label"] is cell["nearest_distance_px"] is None
            continue
        nearest = min(away.values())
        assert cell["nearest_distance_px"] == pytest.approx(nearest, rel=1e-4, abs=1e-5)
        named = 1 - key[0] if len(images) == 2 else key[0], cell["nearest_label"]
        assert away[named] == pytest.approx(nearest, rel=1e-4, abs=1e-5)


def test_cells_that_meet_at_a_corner_or_around_the_edge_do_not_touch(measured_by_each):
    image = np.zeros(SHAPE, np.uint16)
    image[2:4, 2:4], image[4:6, 4:6] = 3, 8
    tables = measured_by_each(image)
    assert tables["contacts"].is_empty()
    assert tables["cells"]["n_touching"].to_list() == [0, 0]
    assert tables["neighbours"].rows() == [(0, 0, 3, 0, 8)]
    image = np.zeros(SHAPE, np.uint16)
    corners = itertools.product((0, -1), (0, -1))
    for label, corner in enumerate(corners, 1):
        image[corner] = label
    tables = measured_by_each(image)
    assert tables["contacts"].is_empty()
    assert tables["cells"]["area_px"].to_list() == [1, 1, 1, 1]
    assert (
        measured_by_each(image, image[::-1])["contacts"].select("contact_px", "overlap_px").rows()
        == [(1, 1)] * 4
    )


def test_frames_without_cells_and_with_very_many_are_measured_the_same_way(measured_by_each):
    tables = measured_by_each(np.zeros(SHAPE, np.uint16))
    full = measured_by_each(np.eye(*SHAPE, dtype=np.uint16))
    for name, table in tables.items():
        assert table.is_empty()
        assert table.schema == full[name].schema
    image = np.arange(1, 301, dtype=np.uint16).reshape(15, 20)
    contacts = measured_by_each(image)["contacts"]
    assert len(contacts) == 15 * 19 + 14 * 20
    assert set(contacts["contact_px"]) == {1}
    assert set((contacts["label_b"] - contacts["label_a"]).to_list()) == {1, 20}


def test_a_frame_with_too_many_cells_for_the_device_says_so(opencl):
    types = [densify(np.eye(*SHAPE, dtype=np.uint16))]
    with refused(ResourceExhausted):
        measure(types, 1 << 20)


def test_masks_too_large_for_the_devices_sums_are_told_from_cells():
    mask = np.ones((1600, 1600), np.uint8)
    assert not fits_sums(densify(mask)).any()
    cells = np.repeat(np.arange(1, 65, dtype=np.uint8).reshape(8, 8), 200, axis=0)
    assert fits_sums(densify(np.repeat(cells, 200, axis=1))).all()

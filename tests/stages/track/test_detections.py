"""Detections are the exact centroids of labels."""

import numpy as np
import pytest
from scipy import ndimage

from pyscale_stages.errors import BadInput
from pyscale_stages.track.detections import detect, joined
from refusals import refused

RANDOM = np.random.default_rng(5)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int32", "uint64"])
def test_centroids_are_the_mean_of_the_pixels(dtype):
    labels = RANDOM.integers(0, 20, (60, 80)).astype(dtype)
    found = detect(labels, frame=7)
    expected = ndimage.center_of_mass(np.ones(labels.shape), labels, found.label)
    assert found.label.tolist() == list(range(1, 20))
    assert set(found.frame.tolist()) == {7}
    np.testing.assert_allclose(np.stack([found.y_px, found.x_px], axis=1), expected, rtol=1e-12)


def test_a_few_very_large_labels_cost_nothing_and_a_frame_without_cells_has_no_detection():
    small = np.zeros((40, 40), dtype=np.uint32)
    small[2:9, 3:5], small[20:22, 30:38] = 1, 2
    large = np.where(small == 2, np.uint32(2**31 - 1), small * np.uint32(1_000_000_000))
    few, many = detect(small, 0), detect(large, 0)
    assert many.label.tolist() == [1_000_000_000, 2**31 - 1]
    assert few.y_px.tobytes() == many.y_px.tobytes()
    assert few.x_px.tobytes() == many.x_px.tobytes()
    assert len(detect(np.zeros((8, 8), dtype=np.uint16), 0)) == 0
    assert len(joined([])) == 0


@pytest.mark.parametrize(
    "labels", [np.array([[0, -3]], dtype=np.int16), np.array([[0, 2**31]], dtype=np.uint32)]
)
def test_labels_that_no_table_holds_are_refused(labels):
    with refused(BadInput):
        detect(labels, 4)

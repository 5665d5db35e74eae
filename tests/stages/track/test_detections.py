import numpy as np
import pytest
from scipy import ndimage

from pyscale_stages.track.detections import detect

RANDOM = np.random.default_rng(5)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int32", "uint64"])
def test_centroids_are_the_mean_of_the_pixels(dtype):
    labels = RANDOM.integers(0, 20, (60, 80)).astype(dtype)
    found = detect(labels, frame=7)
    expected = ndimage.center_of_mass(np.ones(labels.shape), labels, found.label)
    assert found.label.tolist() == list(range(1, 20))
    assert set(found.frame.tolist()) == {7}
    np.testing.assert_allclose(np.stack([found.y_px, found.x_px], axis=1), expected, rtol=1e-12)

import numpy as np
import pytest

from pyscale_stages.register_denoise import frames


def test_integers_are_rounded_and_clipped_to_their_type_and_do_not_overflow():
    image = np.array([-3.0, 0.4, 0.6, 254.6, 70000.0], np.float32)
    assert frames.as_dtype(image, np.dtype(np.uint8)).tolist() == [0, 0, 1, 255, 255]
    assert frames.as_dtype(image, np.dtype(np.uint16)).tolist() == [0, 0, 1, 255, 65535]
    image = np.array([5e9, -5e9], np.float32)
    limits = np.iinfo(np.uint32)
    assert frames.as_dtype(image, np.dtype(np.uint32)).tolist() == [limits.max, limits.min]


@pytest.mark.parametrize(
    ("given", "kept"),
    [("uint8", "uint8"), (">u2", "uint16"), ("int16", "int16"), ("float64", "float32")],
)
def test_integer_types_are_kept_and_the_rest_is_float32(given, kept):
    assert frames.output_dtype(np.dtype(given)) == np.dtype(kept)

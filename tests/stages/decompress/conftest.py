"""The decompress stage on small movies."""

import pytest

from stagetasks import Bench


@pytest.fixture
def bench(tmp_path):
    """The stage."""
    small = {"frames": 3, "height_px": 64, "width_px": 96, "repeats": 2, "threads": [1, 2]}
    return Bench("decompress", tmp_path, **small)

import sys

import numpy as np
import pytest
import tifffile


@pytest.mark.parametrize(
    "params",
    [
        {"reference_frame": 4},
        {"channel": 1},
        {"transform": "rigid"},
        {"registration": False, "denoiser": "none"},
        {"transform": "Similarity"},
        {"backend": "fft", "transform": "Rigid"},
        {"reference_frame": -1},
    ],
    ids=str,
)
def test_a_mistake_is_said_in_one_sentence_and_leaves_nothing(bench, drifting_movie, params):
    bench.refused("run", drifting_movie, **params)
    assert not (bench.folder / "refused").exists()


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_pixel_types_without_a_counterpart_are_refused(bench, tmp_path, dtype):
    path = tmp_path / "m.tif"
    pixels = np.zeros((2, 64, 64), dtype)
    tifffile.imwrite(path, pixels, photometric="minisblack", metadata={"axes": "TYX"})
    bench.refused("run", path)


@pytest.mark.usefixtures("ants_fails")
def test_a_failure_of_ants_names_the_frame(bench, drifting_movie):
    bench.refused("run", drifting_movie)


def test_an_absent_ants_is_named_with_the_way_to_get_it(bench, drifting_movie, monkeypatch):
    monkeypatch.setitem(sys.modules, "ants", None)
    bench.refused("run", drifting_movie)

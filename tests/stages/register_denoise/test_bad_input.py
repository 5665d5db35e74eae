import sys

import numpy as np
import pytest

LEVELS = ("iterations", "shrink_factors", "smoothing_sigmas_px")


def tiny(pixels):
    return pixels[:, :20, :20]


@pytest.mark.parametrize(
    ("change", "params"),
    [
        pytest.param(tiny, {}, id="too small to shrink by 6: use"),
        pytest.param(np.asarray, {"reference_frame": 4}, id="reference_frame 4 is outside"),
        pytest.param(np.asarray, {"channel": 1}, id="no channel 1 to register: it has"),
        pytest.param(np.asarray, {"transform": "rigid"}, id="transform"),
        pytest.param(
            np.asarray, {"registration": False, "denoiser": "none"}, id="denoiser is none"
        ),
        pytest.param(np.asarray, {"iterations": [10]}, id="same number of levels, but name"),
        pytest.param(np.asarray, {"transform": "Similarity"}, id="Translation, Rigid, Affine or"),
        pytest.param(
            np.asarray, {"backend": "fft", "transform": "Rigid"}, id="finds nothing but shifts"
        ),
        pytest.param(np.asarray, {"reference_frame": -1}, id="greater than or equal to 0"),
        pytest.param(np.asarray, {"sampling_fraction": 0}, id="greater than 0"),
        pytest.param(np.asarray, {"shrink_factors": [0, 4, 2, 1]}, id="greater than or equal to 1"),
        pytest.param(np.asarray, {key: [] for key in LEVELS}, id="at least 1 item"),
    ],
)
def test_a_mistake_is_said_in_one_sentence_and_leaves_nothing(
    bench, movie_of, drifting_pixels, change, params
):
    bench.refused("run", movie_of(change(drifting_pixels)), **params)
    assert not (bench.folder / "refused").exists()


@pytest.mark.usefixtures("ants_fails")
def test_a_failure_of_ants_names_the_frame(bench, drifting_movie):
    bench.refused("run", drifting_movie)


def test_an_absent_ants_is_named_with_the_way_to_get_it(bench, drifting_movie, monkeypatch):
    monkeypatch.setitem(sys.modules, "ants", None)
    bench.refused("run", drifting_movie)

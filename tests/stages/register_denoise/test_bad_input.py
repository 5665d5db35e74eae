"""Mistakes a user makes: exit code 2, one sentence, and nothing half-made."""

import sys

import numpy as np
import pytest

LEVELS = ("iterations", "shrink_factors", "smoothing_sigmas_px")


def tiny(pixels):
    return pixels[:, :20, :20]


@pytest.mark.parametrize(
    ("change", "params", "said"),
    [
        (tiny, {}, "too small to shrink by 6: use shrink_factors of at most 2"),
        (np.asarray, {"reference_frame": 4}, "reference_frame 4 is outside"),
        (np.asarray, {"channel": 1}, "no channel 1 to register: it has 1"),
        (np.asarray, {"transform": "rigid"}, "'transform'"),
        (np.asarray, {"registration": False, "denoiser": "none"}, "denoiser is none"),
        (np.asarray, {"iterations": [10]}, "same number of levels, but name 1, 4 and 4"),
        (np.asarray, {"transform": "Similarity"}, "'Translation', 'Rigid', 'Affine' or 'SyN'"),
        (np.asarray, {"reference_frame": -1}, "greater than or equal to 0"),
        (np.asarray, {"sampling_fraction": 0}, "greater than 0"),
        (np.asarray, {"shrink_factors": [0, 4, 2, 1]}, "greater than or equal to 1"),
        (np.asarray, {key: [] for key in LEVELS}, "at least 1 item"),
    ],
)
def test_a_mistake_is_said_in_one_sentence_and_leaves_nothing(
    bench, movie_of, drifting_pixels, change, params, said
):
    assert said in bench.refused("run", movie_of(change(drifting_pixels)), **params)
    assert not (bench.folder / "refused").exists()


@pytest.mark.usefixtures("ants_fails")
def test_a_failure_of_ants_names_the_frame(bench, drifting_movie):
    said = bench.refused("run", drifting_movie)
    assert "cannot register frame 1 of" in said
    assert "choose another reference_frame" in said


def test_an_absent_ants_is_named_with_the_way_to_get_it(bench, drifting_movie, monkeypatch):
    monkeypatch.setitem(sys.modules, "ants", None)
    assert "pip install antspyx==" in bench.refused("run", drifting_movie)

"""Small synthetic movies, written once for all tests of a run."""

import pytest

from pyscale_stages.synth.movie import SynthParams, write_synthetic_movie

TWO_TYPES = SynthParams(
    seed=7,
    frames=14,
    height_px=150,
    width_px=170,
    cell_types=2,
    cells=22,
    radius_px=7,
    speed_px=1.5,
    division_rate=0.06,
)
ONE_TYPE = TWO_TYPES.model_copy(update={"cell_types": 1, "cells": 60, "max_drift_px": 6.0})


@pytest.fixture(scope="session")
def two_types(tmp_path_factory):
    """Folder of a movie with two types of dividing cells."""
    return write_synthetic_movie(tmp_path_factory.mktemp("synth") / "two", TWO_TYPES)


@pytest.fixture(scope="session")
def one_type(tmp_path_factory):
    """Folder of a crowded movie with one type of dividing cells."""
    return write_synthetic_movie(tmp_path_factory.mktemp("synth") / "one", ONE_TYPE)


@pytest.fixture(params=["two_types", "one_type"])
def any_movie(request):
    """Each of the two movies in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["camera", "specimen"])
def any_truth(any_movie, request):
    """Each truth folder of each movie in turn."""
    return any_movie / "truth" / str(request.param)

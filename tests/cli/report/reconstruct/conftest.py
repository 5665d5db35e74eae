"""Runs that reconstructed images over ranks, made up."""

import pytest

from madeupreconstruct import ENTRIES
from madeupreconstructrun import made_up


@pytest.fixture(scope="session")
def shared():
    """Three images on 1, 2, 4 and 8 ranks, six times; one does not fit one rank."""
    return made_up()


@pytest.fixture(scope="session")
def beside():
    """One image on one rank, once, and a stage that reads a movie at N = 1 and 2."""
    return made_up(ENTRIES[:1], ranks=(1,), repeats=1, pipeline=True)

"""Machines that are made up."""

import pytest

from madeupmachine import made_up


@pytest.fixture(scope="session")
def one():
    """One node without a GPU, and no stage beside."""
    return made_up(1, gpus=False)


@pytest.fixture(scope="session")
def three():
    """Three nodes with two GPUs each; the third reads at half the rate."""
    return made_up(3)


@pytest.fixture(scope="session")
def beside():
    """One node, and a stage that reads a movie at N = 1 and 2."""
    return made_up(1, gpus=False, pipeline=True)


@pytest.fixture(scope="session")
def many():
    """More nodes than are drawn each by itself."""
    return made_up(6, gpus=False, blocks=2)

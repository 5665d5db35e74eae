"""Sweeps of sizes and devices that are made up."""

import pytest

from madeupgrid import made_up


@pytest.fixture(scope="session")
def both():
    """CPU and GPU at ten sizes, six repeats each."""
    return made_up()


@pytest.fixture(scope="session")
def cpu_alone():
    """A first look on a machine without a GPU."""
    return made_up(("cpu",), (224, 448, 672), repeats=2)


@pytest.fixture(scope="session")
def thin():
    """Both devices at three sizes once: no interval and no ceiling."""
    return made_up(sizes=(224, 448, 896), repeats=1, beside=False)

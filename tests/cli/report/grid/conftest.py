"""Sweeps of sizes and devices that are made up."""

import pytest

from madeupgrid import made_up

SOME = (224, 448, 896, 1792)


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


@pytest.fixture(scope="session")
def as_published():
    """The model built anew before each call, once."""
    return made_up(sizes=SOME, repeats=1, builds=True, references=False)


@pytest.fixture(scope="session")
def mixed():
    """Two models, and a stage without a grid at N = 1 and 2."""
    return made_up(sizes=SOME, models=("pyscale-tiny", "cyto3"), scaling=True)


@pytest.fixture(scope="session")
def shared():
    """One and two workers on a GPU."""
    return made_up(sizes=(224, 896), workers=(1, 2), parts=False)

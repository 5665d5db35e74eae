"""The command line as a user has it, and real movies small enough to run in seconds."""

import os
from functools import partial

import pytest

from commandline import answer_of, commands
from heldtasks import HeldTasks
from movingsquares import write_moving_squares


@pytest.fixture(autouse=True, scope="module")
def _without_figures(without_figures):
    """What is drawn is not the point here; tests that look at it have PYTHONPATH without it."""


@pytest.fixture
def home(tmp_path, monkeypatch, shared_data):
    """A working folder whose runs and datasets are its own, and whose mirror is a folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSCALE_DATA_FOLDER", str(tmp_path / "data"))
    monkeypatch.setenv("PYSCALE_MIRROR", str(shared_data))
    return tmp_path


@pytest.fixture
def pyscale(home, capsys):
    return partial(answer_of, capsys, "pyscale")


@pytest.fixture
def start(home):
    """Start a command as a process of its own, which does not outlive the test."""
    with commands() as begin:
        yield begin


@pytest.fixture
def held(home, monkeypatch):
    """The first tasks of a run stand still, so that it does not end before it is disturbed."""
    folder = home / "python_path"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    return HeldTasks(folder)


@pytest.fixture
def movie(shared_data):
    """A real movie of migrating cells."""
    return shared_data / "cancer-migration" / "cancer_cell_migration_crop.tif"


@pytest.fixture
def labels(home):
    return write_moving_squares(home / "labels.ome.tif")

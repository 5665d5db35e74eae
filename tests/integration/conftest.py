"""The command line as a user has it, and real movies small enough to run in seconds."""

import os
import sys
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import pytest

from commandline import answer_of, commands
from forked import forked_commands
from forkedtasks import forked_tasks
from heldtasks import HeldTasks
from movingsquares import write_moving_squares


@pytest.fixture(autouse=True, scope="module")
def _without_figures(without_figures):
    """What is drawn is not the point here; tests that look at it have PYTHONPATH without it."""


@pytest.fixture(autouse=True, scope="module")
def _without_page():
    """Nor is the page, which takes longer than all else of a report; who looks at it says so."""
    with pytest.MonkeyPatch.context() as patch:
        instead = SimpleNamespace(write_page=lambda folder, _results: folder / "report.html")
        patch.setitem(sys.modules, "pyscale.report.page.write", instead)
        yield


@pytest.fixture
def anew(request):
    """Whether processes begin as those of users do, and not as forks, which saves their imports."""
    return request.node.get_closest_marker("smoke") or "fresh" in request.fixturenames


@pytest.fixture
def fresh():
    """Ask for this where it matters how processes begin."""


@pytest.fixture(autouse=True)
def _forked_tasks(anew):
    """Tasks of commands that a test runs in its own process are forks."""
    with nullcontext() if anew else forked_tasks():
        yield


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
def start(home, anew):
    """Start a command as a process of its own, which does not outlive the test."""
    with commands() if anew else forked_commands() as begin:
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

"""One real Grid Engine for all tests of a session."""

import os
from functools import partial

import pytest

from commandline import answer_of, commands
from gridengine.daemons import VARIABLES, is_absent, running
from heldtasks import HeldTasks
from movingsquares import write_moving_squares
from pyscale.resources import shipped


@pytest.fixture(autouse=True, scope="module")
def _without_figures(without_figures):
    """What is drawn is not the point here."""


@pytest.fixture(scope="session")
def daemons(missing, tmp_path_factory):
    if is_absent():
        missing("Grid Engine", "run scripts/provide_gridengine.sh as root, who starts it too")
    with running(tmp_path_factory.mktemp("gridengine")):
        yield


@pytest.fixture
def home(daemons, tmp_path, monkeypatch):
    """A working folder from which jobs can be submitted."""
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def labels(home):
    return write_moving_squares(home / "labels.ome.tif")


@pytest.fixture
def held(home, site):
    """The first tasks of a run stand still; a job has nothing of the environment around it."""
    folder = home / "python_path"
    folder.mkdir()
    text = site.read_text()
    site.write_text(f'setup = ["export PYTHONPATH={folder}"]\n{text}')
    return HeldTasks(folder)


@pytest.fixture
def site(home):
    """The shipped site, as a file of the user's own."""
    path = home / "mine.toml"
    path.write_text((shipped("config") / "sites" / "gridengine.toml").read_text())
    return path


@pytest.fixture
def words(labels, site):
    """The command line of a run in one job."""
    what = ("labels", "--data", labels, "--only", "contact", "--workers", "1,2", "--repeats", "1")
    return ("run", *what, "--set", "keep_outputs=all", "--executor", "job", "--site", site)


@pytest.fixture
def pyscale(home, capsys):
    return partial(answer_of, capsys, "pyscale")


@pytest.fixture
def start(home):
    """Start a command as a process of its own, which does not outlive the test."""
    with commands(env=os.environ) as begin:
        yield begin

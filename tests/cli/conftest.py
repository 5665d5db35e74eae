"""A planned run on pretended workers."""

import os
from functools import partial

import pytest

from commandline import answer_of
from mockruns import PIPELINE, plan_of, small_movie
from programs import put_program
from pyscale.measuring import trialrunner
from pyscale.planning.grid import unfolded
from pyscale.planning.suite import load_suite
from pyscale.store.folder import RunFolder
from pyscale.store.records import Bystanders
from pyscale_stages.measure.nodename import node_name
from runbuilder import RunBuilder


@pytest.fixture(autouse=True, scope="module")
def _nobody_else_is_at_work():
    """Spare pretended trials the look at every process of the machine, before and after each."""
    idle = Bystanders(node=node_name(), cores=1, pyscale_tasks=0, runnable=0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trialrunner, "look_around", lambda: idle)
        yield


@pytest.fixture(scope="session")
def new_run():
    """Start an empty run; a factory, so that property tests can build many."""
    return RunBuilder


@pytest.fixture
def dataset(tmp_path):
    """The small movie."""
    return small_movie(tmp_path)


@pytest.fixture
def movie(dataset):
    return dataset.movie


@pytest.fixture
def make_of(tmp_path, dataset):
    """Plan a suite on the small movie, with any setting replaced."""

    def plan(suite, *given, **changes):
        return plan_of(suite, changes.pop("dataset", dataset), tmp_path / "runs", *given, **changes)

    return plan


@pytest.fixture
def make(make_of):
    """Plan the pipeline on the small movie, with any setting replaced."""
    return partial(make_of, PIPELINE, workers=(1, 2))


@pytest.fixture
def sweep(make_of):
    """Plan the device sweep with two sizes on the CPU, or with other values of its axes."""

    def plan(grid=None, **changes):
        axes = {"length_px": (2, "full"), "device": ("cpu",), "threads": (1,)} | (grid or {})
        chosen = {axis: tuple(values) for axis, values in axes.items()}
        suite = unfolded(load_suite("device"), chosen, device="cpu", cores=lambda *_: 1)
        return make_of(suite, grid=chosen, **changes)

    return plan


@pytest.fixture
def run(make, tmp_path):
    """A new run of the pipeline at N = 1 and 2, twice."""
    return RunFolder.create(tmp_path / "runs", make())


@pytest.fixture
def pyscale(tmp_path, monkeypatch, capsys):
    """Run a command in the folder that holds `runs`, and join the lines of what it complains of."""
    monkeypatch.chdir(tmp_path)

    def said(*words):
        named = (word.path if isinstance(word, RunFolder) else word for word in words)
        answer = answer_of(capsys, "pyscale", *named)
        return answer._replace(err=" ".join(answer.err.split()))

    return said


@pytest.fixture
def put_on_path(tmp_path, monkeypatch):
    """Put shell programs on PATH by name, in place of those of Slurm."""
    folder = tmp_path / "bin"
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")

    def put(**programs):
        for name, body in programs.items():
            put_program(folder, name, body)

    return put

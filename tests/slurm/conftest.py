"""One real Slurm cluster for all tests of a session."""

import os
import shutil

import pytest

from movingsquares import write_moving_squares
from programs import put_program
from pyscale.store.folder import RunFolder
from slurm.cluster import absent_programs, running_cluster
from slurm.runs import ClusterRuns, say


@pytest.fixture(autouse=True, scope="module")
def _without_figures(without_figures):
    """What is drawn is not the point here."""


@pytest.fixture(scope="session")
def cluster_of_the_session(missing):
    if absent := absent_programs():
        missing(
            f"Slurm ({', '.join(absent)})",
            "run scripts/provide_slurm.sh as root, or install slurm-wlm, munge, slurmdbd, "
            "mariadb-server-core and mariadb-client-core (Debian's names)",
        )
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
def slurm(cluster_of_the_session, monkeypatch):
    """The cluster with every node idle; sbatch and its kin speak to it during the test."""
    cluster = cluster_of_the_session
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    yield cluster
    cluster.heal()


@pytest.fixture
def broken_sacct(tmp_path, monkeypatch):
    """A `sacct` that fails comes first on PATH, as where a site keeps no accounts."""
    fails = "echo 'sacct: error: the database is gone' >&2; exit 1"
    program = put_program(tmp_path / "broken", "sacct", fails)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)


@pytest.fixture
def once(tmp_path, monkeypatch):
    """Let a command of Slurm be other lines of shell the next time that it is called.

    They know the command itself as $real. Questions that submit nothing are answered as ever.
    """
    folder = tmp_path / "instead"
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)

    def put(command, lines):
        real = shutil.which(command, path=os.environ["PATH"].partition(os.pathsep)[2])
        answered = 'case "$*" in *--version*|*--test-only*) exec $real "$@";; esac'
        put_program(folder, command, f'real={real}\n{answered}\nrm "$0"\n{lines}')

    return put


@pytest.fixture
def endless(tmp_path):
    """A batch script that does not end by itself."""
    script = tmp_path / "endless.sh"
    script.write_text("#!/bin/sh\nexec sleep infinity\n")
    return script


@pytest.fixture
def runs(slurm, tmp_path, monkeypatch):
    """Runs on the cluster, in a working folder of their own."""
    monkeypatch.chdir(tmp_path)
    made = ClusterRuns(slurm, tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(made.python_path), prepend=os.pathsep)
    try:
        yield made
    finally:
        made.end()


CONTACTS = ("labels", "--only", "contact", "--set", "seed=3", "--set", "keep_outputs=all")


@pytest.fixture(scope="session")
def of_one_machine(tmp_path_factory):
    """A run of contacts at N = 2 on this machine."""
    folder = tmp_path_factory.mktemp("of one machine")
    movie = write_moving_squares(folder / "labels.ome.tif")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSCALE_RUNS_FOLDER", str(folder / "runs"))
        few = ("--workers", "2", "--repeats", "1", "--cache", "asis")
        say("run", *CONTACTS, "--data", movie, *few)
    (path,) = (folder / "runs").iterdir()
    return RunFolder(path)

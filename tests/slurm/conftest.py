"""Real Slurm clusters for the tests of a session, one of each kind."""

import os
import shutil
from contextlib import contextmanager

import pytest

from programs import put_program
from slurm.cluster import absent_programs, running_cluster
from slurm.runs import ClusterRuns


@contextmanager
def _cluster(missing, *, with_accounting):
    absent = absent_programs(with_accounting=with_accounting)
    if absent:
        missing(
            f"Slurm ({', '.join(absent)})",
            "run scripts/provide_slurm.sh as root, or install slurm-wlm and munge, and for "
            "accounting slurmdbd, mariadb-server-core and mariadb-client-core (Debian's names)",
        )
    with running_cluster(with_accounting=with_accounting) as cluster:
        yield cluster


@contextmanager
def _in_use(cluster, monkeypatch):
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    # Jobs of each task are what most of these tests look at; test_allocation*.py hold one job.
    monkeypatch.setenv("PYSCALE_ALLOCATION", os.environ.get("PYSCALE_ALLOCATION", "each"))
    yield cluster
    cluster.heal()


@pytest.fixture(autouse=True, scope="module")
def _without_figures(without_figures):
    """What is drawn is not the point here; tests that look at it have PYTHONPATH without it."""


@pytest.fixture(scope="session")
def cluster_of_the_session(missing):
    with _cluster(missing, with_accounting=False) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def accounting_cluster_of_the_session(missing):
    """One cluster with accounting for all tests: starting it takes seconds."""
    with _cluster(missing, with_accounting=True) as cluster:
        yield cluster


@pytest.fixture
def slurm(cluster_of_the_session, monkeypatch):
    """A plain cluster with every node idle; sbatch and its kin speak to it during the test.

    It keeps no accounts, so `sacct` fails.
    """
    with _in_use(cluster_of_the_session, monkeypatch) as cluster:
        yield cluster


@pytest.fixture
def slurm_with_accounting(accounting_cluster_of_the_session, monkeypatch):
    """A cluster like `slurm`, of a site that has more.

    `sacct` answers, jobs are paid for by an account, and the kernel limits their memory.
    """
    with _in_use(accounting_cluster_of_the_session, monkeypatch) as cluster:
        yield cluster


@pytest.fixture
def broken_sacct(tmp_path, monkeypatch):
    """A `sacct` that fails comes first on PATH."""
    fails = "echo 'sacct: error: the database is gone' >&2; exit 1"
    program = put_program(tmp_path / "broken", "sacct", fails)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)


@pytest.fixture
def instead(tmp_path, monkeypatch):
    """Let a command of Slurm be other lines of shell, which know the command itself as $real.

    Questions that submit nothing are answered as ever.
    """
    folder = tmp_path / "instead"
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)

    def put(command, lines):
        answered = 'case "$*" in *--version*|*--test-only*) exec $real "$@";; esac'
        put_program(folder, command, f"real={shutil.which(command)}\n{answered}\n{lines}")

    return put


@pytest.fixture
def holding(monkeypatch):
    """Runs hold one job, which is the default; `slurm` says otherwise."""
    monkeypatch.setenv("PYSCALE_ALLOCATION", "hold")


@pytest.fixture
def endless(tmp_path):
    """A batch script that does not end by itself."""
    script = tmp_path / "endless.sh"
    script.write_text("#!/bin/sh\nexec sleep infinity\n")
    return script


@pytest.fixture
def runs(slurm, tmp_path, monkeypatch):
    """Runs on the plain cluster, in a working folder of their own."""
    with _runs_on(slurm, tmp_path, monkeypatch) as made:
        yield made


@pytest.fixture
def runs_with_accounting(slurm_with_accounting, tmp_path, monkeypatch):
    with _runs_on(slurm_with_accounting, tmp_path, monkeypatch) as made:
        yield made


@contextmanager
def _runs_on(cluster, home, monkeypatch):
    monkeypatch.chdir(home)
    made = ClusterRuns(cluster, home)
    monkeypatch.setenv("PYTHONPATH", str(made.python_path), prepend=os.pathsep)
    try:
        yield made
    finally:
        made.end()

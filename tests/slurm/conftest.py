"""A real Slurm cluster for the tests of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from slurm.cluster import SlurmCluster, absent_programs, running_cluster


@pytest.fixture(scope="session")
def cluster_of_the_session(missing: Callable[[str, str], None]) -> Iterator[SlurmCluster]:
    """One cluster for all tests: starting it takes seconds."""
    absent = absent_programs()
    if absent:
        missing(
            f"Slurm ({', '.join(absent)})",
            "run scripts/provide_slurm.sh as root, or install slurm-wlm and munge (Debian's names)",
        )
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture
def slurm(
    cluster_of_the_session: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SlurmCluster]:
    """The cluster with every node idle; sbatch and its kin speak to it during the test."""
    for name, value in cluster_of_the_session.environment.items():
        monkeypatch.setenv(name, value)
    yield cluster_of_the_session
    cluster_of_the_session.heal()

"""Killed tests leave nothing behind: their daemons die along, the next cluster clears the rest."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from slurm import cgroups
from slurm.cluster import SlurmCluster
from slurm.leftovers import OWNER_FILE, clear_leftovers, names_of, processes_of

TESTS = Path(__file__).resolve().parents[1]
PROGRAM = """\
import sys
from slurm.cluster import running_cluster
from slurm.leftovers import names_of, processes_of

with running_cluster(with_accounting=sys.argv[1] == "True") as cluster:
    cluster.submit("--output=/dev/null", "--wrap=sleep infinity")
    # The controller calls a job running before its node has started it.
    cluster.wait_for(lambda: "sleep" in names_of(processes_of(cluster.folder)), "it ran")
    print(cluster.folder, flush=True)
    input()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "daemons"),
    [
        ("slurm", {"munged", "slurmctld", "slurmd"}),
        (
            "slurm_with_accounting",
            {"munged", "slurmctld", "slurmd", "slurmdbd", "mariadbd"},
        ),
    ],
)
def test_killed_tests_leave_no_process_no_folder_and_no_cgroup(
    request: pytest.FixtureRequest, kind: str, daemons: set[str]
) -> None:
    other: SlurmCluster = request.getfixturevalue(kind)
    tests = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(kind == "slurm_with_accounting")],
        cwd=TESTS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert tests.stdout is not None
    folder = Path(tests.stdout.readline().strip())
    assert (folder / OWNER_FILE).is_file()
    alive = processes_of(folder)
    assert names_of(alive) >= daemons | {"slurmstepd", "sleep"}
    groups = cgroups.groups_of_jobs(process.pid for process in alive)
    assert bool(groups) == (kind == "slurm_with_accounting" and cgroups.can_limit_memory())
    tests.send_signal(signal.SIGKILL)
    tests.wait()
    _, survivors = psutil.wait_procs(
        [process for process in alive if process.name() in daemons], timeout=60
    )
    assert survivors == []
    clear_leftovers()
    assert not folder.exists()
    assert processes_of(folder) == []
    assert [process for process in alive if process.is_running()] == []
    assert [group for group in groups if group.exists()] == []
    assert other.folder.exists()
    job = other.submit("--output=/dev/null", "--wrap=true")
    assert other.wait_for_jobs(job) == {job: {"COMPLETED"}}

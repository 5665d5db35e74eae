"""Killed tests leave nothing behind: their daemons die along, the next cluster clears the rest."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from controlgroups import end_group
from slurm import cgroups
from slurm.configuration import job_ids
from slurm.leftovers import END_S, OWNER_FILE, clear_leftovers, names_of, processes_of

FORKS = "echo $$ > {group}/cgroup.procs; echo here; while :; do sleep infinity & sleep 0.01; done"
TESTS = Path(__file__).resolve().parents[1]
PROGRAM = """\
from slurm.cluster import running_cluster
from slurm.leftovers import names_of, processes_of

with running_cluster(with_accounting=True) as cluster:
    cluster.submit("--output=/dev/null", "--wrap=sleep infinity")
    # The controller calls a job running before its node has started it.
    cluster.wait_for(lambda: "sleep" in names_of(processes_of(cluster.folder)), "it ran")
    print(cluster.folder, flush=True)
    input()
"""


def test_a_group_goes_with_all_that_forks_in_it(missing):
    if not cgroups.can_limit_memory():
        missing("groups that limit memory", cgroups.HOW_TO_GET_THEM)
    outer = cgroups.MEMORY / f"pyscale-test-{os.getpid()}"
    group = outer / "task_0"
    group.mkdir(parents=True)
    shell = ["sh", "-c", FORKS.format(group=group)]
    with subprocess.Popen(shell, stdout=subprocess.PIPE) as forking:
        forking.stdout.readline()
        assert str(forking.pid) in (group / "cgroup.procs").read_text().split()
        end_group(outer)
    assert not outer.exists()
    assert forking.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_killed_tests_leave_no_process_no_folder_and_no_cgroup(slurm_with_accounting):
    other = slurm_with_accounting
    daemons = {"munged", "slurmctld", "slurmd", "slurmdbd", "mariadbd"}
    tests = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=TESTS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    folder = Path(tests.stdout.readline().strip())
    assert (folder / OWNER_FILE).is_file()
    alive = processes_of(folder)
    assert names_of(alive) >= daemons | {"slurmstepd", "sleep"}
    ids = job_ids(folder)
    # One that was forked for a moment may have gone by now, and has no name any more.
    started = [process for process in alive if names_of([process]) & daemons]
    groups = cgroups.groups_of_jobs(ids)
    assert bool(groups) == cgroups.can_limit_memory()
    tests.send_signal(signal.SIGKILL)
    tests.wait()
    _, survivors = psutil.wait_procs(started, timeout=END_S)
    assert survivors == []

    def cleared():
        # Tests of another session may be clearing it at this moment.
        clear_leftovers()
        return not folder.exists()

    other.wait_for(cleared, "the leftovers were cleared")
    assert processes_of(folder) == []
    _, survivors = psutil.wait_procs(alive, timeout=END_S)
    assert survivors == []
    assert cgroups.groups_of_jobs(ids) == []
    assert other.folder.exists()
    job = other.submit("--output=/dev/null", "--wrap=true")
    assert other.wait_for_jobs(job) == {job: {"COMPLETED"}}

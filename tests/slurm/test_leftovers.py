"""Killed tests leave nothing behind: their daemons die along, the next cluster clears the rest."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from controlgroups import end_group
from slurm import cgroups
from slurm.leftovers import OWNER_FILE, clear_leftovers, has_ended, processes_of

FORKS = "echo $$ > {group}/cgroup.procs; echo here; while :; do sleep infinity & sleep 0.01; done"
TESTS = Path(__file__).resolve().parents[1]
# A daemon dies along; a job has a session and an environment of its own, and lives on.
PROGRAM = """\
import signal, subprocess
from slurm.daemons import Daemons
from slurm.leftovers import owned_folder

with owned_folder() as folder:
    (folder / "n1").mkdir()
    Daemons(folder, {}).start("daemon", ["sleep", "infinity"])
    subprocess.Popen(["sleep", "infinity"], cwd=folder / "n1", start_new_session=True, env={})
    print(folder, flush=True)
    signal.pause()
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


def test_killed_tests_leave_no_process_and_no_folder_and_others_are_spared(slurm):
    tests = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=TESTS, stdout=subprocess.PIPE, text=True
    )
    folder = Path(tests.stdout.readline().strip())
    assert (folder / OWNER_FILE).is_file()
    clear_leftovers()
    (job,) = processes_of(folder, "n1")
    (daemon,) = (one for one in processes_of(folder) if one not in (job, psutil.Process(tests.pid)))
    tests.kill()
    # Its pipe is not read to the end: the job holds the other one.
    tests.wait()
    tests.stdout.close()
    slurm.wait_for(lambda: has_ended(daemon), "the daemon died along")

    def cleared():
        # Tests of another session may be clearing it at this moment.
        clear_leftovers()
        return not folder.exists()

    slurm.wait_for(cleared, "the leftovers were cleared")
    assert processes_of(folder) == []
    assert has_ended(job)
    assert slurm.folder.exists()
    assert slurm.has_no_job()

"""What a cluster leaves behind when the tests die, and how it is found and ended."""

import ctypes
import fcntl
import shutil
import signal
import tempfile
import time
from contextlib import contextmanager, suppress
from os import getpid
from pathlib import Path

import psutil

from controlgroups import end_group
from slurm import cgroups
from slurm.configuration import job_ids

FOLDER_PREFIX = "pyscale-slurm-"
OWNER_FILE = "owner"
"""Locked as long as the process lives that a cluster belongs to."""
END_S = 300.0
POLL_S = 0.02
PR_SET_PDEATHSIG = 1


@contextmanager
def owned_folder():
    """A folder for a cluster, which nobody takes for a leftover while this process lives."""
    folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
    unlocked = folder / f"{OWNER_FILE}.new"
    with unlocked.open("w") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        # Whoever sees it under its name finds it locked.
        unlocked.rename(folder / OWNER_FILE)
        yield folder


def clear_leftovers():
    """End and remove the clusters of tests that died."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        # Another session may own it, or clear it at this moment.
        with (
            suppress(FileNotFoundError, BlockingIOError),
            (folder / OWNER_FILE).open() as owner,
        ):
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            end(folder)
            shutil.rmtree(folder)


def end(folder, node=None):
    """Kill what works in a cluster, or on one node of it, until nothing does.

    What is killed may have forked since it was found. The keepers of jobs go first, as they would
    tell the controller that their jobs failed.
    """
    deadline = time.monotonic() + END_S
    while processes := processes_of(folder, node):
        for process in sorted(processes, key=lambda one: names_of([one]) != {"slurmstepd"}):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        while not all(has_ended(process) for process in processes):
            if time.monotonic() > deadline:
                raise TimeoutError(f"these did not end in {END_S:.0f} s: {processes}")
            time.sleep(POLL_S)
    for group in cgroups.groups_of_jobs(job_ids(folder), node or "*"):
        end_group(group)


def has_ended(process):
    """Whether a process has ended; whoever is to hear of it may not have listened yet."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def processes_of(folder, node=None):
    """Processes of a cluster, or of one node of it, and what they started.

    They work in its folder, hold a file of it open or name it, or Slurm gave them its name. The
    keeper of a job's step has overwritten its environment; its log and folder tell it.
    """
    within = folder / node if node else folder
    found = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            variables = process.environ()
            configuration = variables.get("SLURM_CONF", "")
            paths = [*process.cmdline(), process.cwd(), configuration]
            paths += [file.path for file in process.open_files()]
            ours = any(f"{within}/" in f"{path}/" for path in paths) or (
                node is not None
                and variables.get("SLURMD_NODENAME") == node
                and configuration.startswith(f"{folder}/")
            )
            if ours and process.pid != getpid():
                family = [process, *process.children(recursive=True)]
                found |= {each.pid: each for each in family}
    return list(found.values())


def names_of(processes):
    """Names of the programs that some processes run, as far as they still do."""
    found = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            found.add(process.name())
    return found


def running_jobs():
    """Ids of the jobs, of whichever cluster, whose own programs run on this machine."""
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            variables = process.environ()
            if {"SLURM_JOB_ID", "SLURMD_NODENAME"} <= variables.keys():
                found.add(variables["SLURM_JOB_ID"])
    return found


def end_with_parent():
    """Ask the kernel to kill this process when the one that started it dies."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

"""A worker that is a step: what stands here in place of srun is what srun would start."""

import signal
import sys

import pytest

from pyscale.executors.stepends import StepLog
from pyscale.executors.waiting import wait_for_any
from pyscale.executors.warmsteps import WarmStep
from pyscale.store.records import Requested, TaskOrder
from pyscale.store.taskfiles import write_order
from trials import ended

ENDLESS = """
import json, signal, sys
print(json.dumps({"ready": True}), flush=True)
sys.stdin.readline()
signal.pause()
"""
LIMIT_S = 60


def worker_of(tmp_path, *program, limit_s=LIMIT_S):
    """A worker that does its first task for ever, by a resident launcher or another program."""
    home = tmp_path / "worker"
    home.mkdir()
    write_order(home, TaskOrder(argv=(sys.executable, "-c", ENDLESS)))
    asked = Requested(cpus=1, memory_bytes=None, time_limit_s=LIMIT_S, gpus=0)
    log = StepLog(tmp_path / "submitit" / "worker.srun", "7", asked)
    return WarmStep(home, program, log, limit_s)


def ordered(tmp_path):
    folder = tmp_path / "w0"
    folder.mkdir()
    return folder, write_order(folder, TaskOrder(argv=("cold",)))


@pytest.mark.slow
def test_a_task_that_takes_longer_than_its_limit_is_ended_and_it_is_said_why(tmp_path):
    home = str(tmp_path / "worker")
    attend = (sys.executable, "-m", "pyscale.executors.resident", home)
    worker = worker_of(tmp_path, *attend, limit_s=0)
    assert worker.is_usable()
    folder, token = ordered(tmp_path)
    worker.give(folder, token)
    wait_for_any({folder: worker})
    assert ended(folder).returncode == -signal.SIGTERM
    worker.end()
    worker.log.explain(folder)
    assert "time limit" in ended(folder).cause.message


@pytest.mark.parametrize(
    ("said", "away"),
    [("no such node", False), ("Unable to contact slurm controller", True)],
)
def test_a_task_of_a_step_that_cannot_begin_says_why(tmp_path, said, away):
    script = f"echo 'srun: error: {said}' >&2; exit 1"
    worker = worker_of(tmp_path, "/bin/sh", "-c", script)
    assert not worker.is_usable()
    assert worker.never_began() == away
    folder, token = ordered(tmp_path)
    worker.give(folder, token)
    wait_for_any({folder: worker})
    assert said in ended(folder).cause.message
    worker.end()

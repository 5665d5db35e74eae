"""A worker that is a step: what stands here in place of srun is what srun would start."""

import json
import signal
import sys

from pyscale.executors.stepends import StepLog
from pyscale.executors.waiting import wait_for_any
from pyscale.executors.warmsteps import WarmStep
from pyscale.store.records import EXIT_FILE, Requested, TaskOrder
from pyscale.store.taskfiles import write_order

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


def test_a_task_that_takes_longer_than_its_limit_is_ended_and_it_is_said_why(tmp_path):
    home = str(tmp_path / "worker")
    attend = (sys.executable, "-m", "pyscale.executors.resident", home)
    worker = worker_of(tmp_path, *attend, limit_s=0)
    assert worker.is_usable()
    folder, token = ordered(tmp_path)
    worker.give(folder, token)
    wait_for_any({folder: worker})
    assert json.loads((folder / EXIT_FILE).read_text())["returncode"] == -signal.SIGTERM
    worker.end()
    worker.log.explain(folder)
    cause = json.loads((folder / EXIT_FILE).read_text())["cause"]
    assert "time limit" in cause["message"]


def test_a_task_of_a_step_that_slurm_refuses_says_so(tmp_path):
    refuses = "import sys; sys.exit('srun: error: no such node')"
    worker = worker_of(tmp_path, sys.executable, "-c", refuses)
    assert not worker.is_usable()
    assert not worker.never_began()
    folder, token = ordered(tmp_path)
    worker.give(folder, token)
    wait_for_any({folder: worker})
    cause = json.loads((folder / EXIT_FILE).read_text())["cause"]
    assert "no such node" in cause["message"]
    worker.end()


def test_a_step_that_no_controller_answers_has_never_begun(tmp_path):
    away = "import sys; sys.exit('srun: error: Unable to contact slurm controller')"
    worker = worker_of(tmp_path, sys.executable, "-c", away)
    assert not worker.is_usable()
    assert worker.never_began()
    worker.end()

import subprocess
from contextlib import ExitStack, contextmanager
from statistics import median

import psutil
import pytest

from pyscale.executors import surroundings
from pyscale.executors.surroundings import look_around

pytestmark = pytest.mark.slow

SPIN = "echo ready; while :; do :; done"
"""Wants a processor without a pause, once it has said so."""
WAIT = "echo ready; read word"
SPINNERS = 16
"""Half of them are more than what else usually begins or ends on the machine meanwhile."""
LOOKS = 3
"""Usually is in most of them."""


@contextmanager
def running(program, *words, count=1):
    """Shells with these words in their command lines, once each has said that it is ready."""
    # The look at them would have to wait for its turn among them.
    line = ["nice", "-n", "19", "sh", "-c", program, *words]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with ExitStack() as ends:
        started = [ends.enter_context(subprocess.Popen(line, **pipes)) for _ in range(count)]
        for process in started:
            ends.callback(process.kill)
            process.stdout.readline()
        yield started


def test_a_task_of_another_run_is_seen():
    with running(WAIT, "-m", "pyscale_stages", "track", "run"):
        assert look_around().pyscale_tasks >= 1


def test_a_process_that_only_names_the_package_is_no_task(monkeypatch):
    all_processes = psutil.process_iter
    with running(WAIT, "tests/pyscale_stages") as (process,):
        # Tasks of others may begin at any time.
        monkeypatch.setattr(
            psutil,
            "process_iter",
            lambda *of: [found for found in all_processes(*of) if found.pid == process.pid],
        )
        assert look_around().pyscale_tasks == 0


def test_what_this_process_started_is_left_out_and_what_others_did_is_not(monkeypatch):
    with running(SPIN, count=SPINNERS):
        runnable = surroundings._runnable()
        assert runnable >= SPINNERS

        def more_as_nobodys_children():
            mine = look_around().runnable
            with monkeypatch.context() as patch:
                patch.setattr(psutil.Process, "children", lambda *_, **__: [])
                return look_around().runnable - mine

        assert median(more_as_nobodys_children() for _ in range(LOOKS)) >= SPINNERS // 2


def test_processes_that_name_the_runs_folder_are_left_out(tmp_path, monkeypatch):
    """As launchers do that start on the node at the same moment, and are nobody's children."""
    task = tmp_path / "tasks" / "trial" / "w0"
    with running(SPIN, f"('{task}')", count=SPINNERS):
        monkeypatch.setattr(psutil.Process, "children", lambda *_, **__: [])
        another = tmp_path.with_name(f"{tmp_path.name}-2")

        def more_beside_another():
            of_others = look_around(besides=tmp_path).runnable
            return look_around(besides=another).runnable - of_others

        assert median(more_beside_another() for _ in range(LOOKS)) >= SPINNERS // 2

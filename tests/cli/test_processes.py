"""A process has ended when it computes no more, whoever still has to ask for it."""

import subprocess
import sys

import psutil

from pyscale.processes import wait_until_ended


def test_a_zombie_that_nobody_asks_for_has_ended():
    """Its parent waits for our word, and asks for no child."""
    program = (
        "import subprocess, sys; "
        "print(subprocess.Popen(['sleep', '1000']).pid, flush=True); sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], text=True, **pipes) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        child.kill()
        wait_until_ended([child])
        assert child.status() == psutil.STATUS_ZOMBIE
        parent.communicate()


def test_those_that_live_are_told_after_the_limit_and_a_child_of_our_own_is_asked_for():
    assert wait_until_ended([]) == []
    process = subprocess.Popen(["sleep", "1000"])
    alive = psutil.Process(process.pid)
    assert wait_until_ended([alive], limit_s=0) == [alive]
    process.kill()
    assert wait_until_ended([alive]) == []
    assert not psutil.pid_exists(process.pid)
    process.wait()

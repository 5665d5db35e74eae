"""Tasks on this machine as forks of a process that has imported what they need.

In place of two processes that begin anew for each task, where a test is about what comes of
tasks and not about how they start: the launcher, the stage, and all records are the real ones.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache, partial
from pathlib import Path
from traceback import print_exc
from unittest.mock import patch

from pyscale.executors import launch, local
from pyscale.interruption import end_with_parent

TESTS = Path(__file__).parent
OF_ALL = (
    *("pyscale_stages.runner", "pyscale_stages.commandline", "pyscale_stages.contact.stage"),
    *("tifffile", "polars", "psutil"),
)
OF_STAGES = {
    "loader": ("torch.distributed", "torch.utils.data", "pyscale_stages.loader.stage"),
    "reconstruct": ("torch.distributed", "deepinvhere", "pyscale_stages.reconstruct.stage"),
    "register_denoise": ("ants", "pywt", "pyscale_stages.register_denoise.stage"),
    "segment": ("torch", "cellpose.models", "cellpose.dynamics", "pyscale_stages.segment.stage"),
    "track": ("laptrack", "pandas", "pyscale_stages.track.stage"),
}
"""What is imported before a stage's tasks are forked; one with nothing here shares a process."""


class Started:
    """A process that is nobody's child here, seen as `subprocess.Popen`."""

    def __init__(self, pid):
        self.pid = pid

    def poll(self):
        return None if Path(f"/proc/{self.pid}").exists() else 0


@contextmanager
def forked_tasks():
    """Commands in the block work runs off in this process, whose tasks begin as forks."""
    with (
        patch.object(local, "_launched", _launched),
        patch("pyscale.measuring.following.started", _worked_off),
    ):
        yield


class Ended:
    """What has worked a run off in this process, seen as `subprocess.Popen`."""

    def __init__(self, returncode):
        self.pid, self.returncode = os.getpid(), returncode

    def poll(self):
        return self.returncode


def _worked_off(run):
    """Work a run off before who started that follows it."""
    from commandline import exit_code
    from pyscale.measuring.following import LOG_FILE

    with (run / LOG_FILE).open("w") as log, redirect_stdout(log), redirect_stderr(log):
        return Ended(exit_code(["pyscale", "work", run]))


def _launched(folder, token):
    stage = json.loads((folder / "order.json").read_bytes())["argv"][3:4]
    server = _server(*OF_STAGES.get(*stage, ()))
    asked = {"folder": str(folder), "token": token, "environment": dict(os.environ)}
    server.stdin.write(json.dumps(asked) + "\n")
    server.stdin.flush()
    return local.LocalJob(Started(int(server.stdout.readline())))


@cache
def _server(*libraries):
    """Start the process that has libraries; it ends with this one, whose pipe it reads."""
    process = subprocess.Popen(
        [sys.executable, __file__, *OF_ALL, *libraries],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path]), "OMP_NUM_THREADS": "1"},
        # A Ctrl-C of the terminal is the tests'.
        start_new_session=True,
    )
    atexit.register(process.stdin.close)
    return process


def serve(libraries):
    """Fork a launcher for each line that is read, and answer with its number."""
    for library in libraries:
        importlib.import_module(library)
    # The kernel forgets forks that have ended.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        if pid := os.fork():
            print(pid, flush=True)  # noqa: T201
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _leave(partial(_launch, **json.loads(line)))


def _launch(folder, token, environment):
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    os.environ.clear()
    os.environ.update(environment)
    real = launch.started
    launch.started = partial(_stage_started, real)
    launch.launch(folder, token)


def _stage_started(real, folder, order, environment):
    """Fork the process of a stage, in place of `launch.started`."""
    interpreter, *words = order["argv"]
    if words[:2] != ["-m", "pyscale_stages"] or interpreter != sys.executable:
        return real(folder, order, environment)
    environment |= {launch.SPAWN_VARIABLE: repr(launch.time.monotonic())}
    launcher = os.getpid()
    if pid := os.fork():
        return Stage(pid)
    with (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
        os.dup2(stdout.fileno(), 1)
        os.dup2(stderr.fileno(), 2)
    end_with_parent(launcher)
    _leave(partial(_become, words, environment, folder))
    raise AssertionError("it has left")


class Stage:
    """A fork, as its launcher sees what `subprocess.Popen` starts."""

    def __init__(self, pid):
        self.pid = pid

    def send_signal(self, number):
        os.kill(self.pid, number)

    def wait(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _become(words, environment, folder):
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
    # What Python does at its start.
    sys.orig_argv = [sys.executable, *words]
    sys.path[:0] = [*filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = words[1:]
    runpy.run_module(words[1], run_name="__main__", alter_sys=True)


def _leave(what):
    """Do something as the last thing that this fork does."""
    code = 1
    try:
        what()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1:])

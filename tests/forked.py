"""Python at work on a command line of its own, without importing large libraries anew.

Each is a fork of one process that has imported them and done nothing else: what a rank, or a
command of pyscale, needs 1 s to 3 s of a core for when it begins by itself.
"""

from __future__ import annotations

import atexit
import importlib
import os
import runpy
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from multiprocessing import forkserver, get_context
from pathlib import Path
from unittest.mock import patch

OF_RANKS = (
    *("torch.distributed", "torch.utils.data", "deepinvhere", "psutil", "polars"),
    *("pyscale_stages.runner", "pyscale_stages.ranks.group"),
)
# Not what draws: a test may have put something else in its place.
OF_COMMANDS = ("pyscale.commands.running", "pyscale.report.write", "rocrate.rocrate")


@cache
def context(libraries):
    """Start the process that has the libraries, and give what begins forks of it.

    A process of tests has one: others import for themselves what it has not.
    """
    found = get_context("forkserver")
    found.set_forkserver_preload(list(libraries))
    # No thread may have begun in what is forked.
    given = {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    with patch.dict(os.environ, given):
        forkserver.ensure_running()
    return found


class Forked:
    """What `python WORDS` does, where they begin with -m or a file, seen as `subprocess.Popen`."""

    def __init__(self, words, variables, libraries=OF_RANKS):
        start = context(libraries)
        (given, stdin), (out, stdout), (err, stderr) = (start.Pipe(False) for _ in range(3))
        ends = given, stdout, stderr
        self._process = start.Process(
            target=_become, args=([str(word) for word in words], variables, Path.cwd(), ends)
        )
        self._process.start()
        for end in ends:
            end.close()
        self.stdin, self.stdout, self.stderr = (
            os.fdopen(os.dup(end.fileno()), mode)
            for end, mode in ((stdin, "w"), (out, "r"), (err, "r"))
        )
        self.pid = self._process.pid
        self.kill = self._process.kill

    def __enter__(self):
        return self

    def __exit__(self, *_raised):
        for pipe in (self.stdin, self.stdout, self.stderr):
            pipe.close()
        self._process.join()

    @property
    def returncode(self):
        return self._process.exitcode

    poll = returncode.fget

    def send_signal(self, number):
        os.kill(self.pid, number)

    def wait(self, timeout=None):
        """Wait until it has ended, and return its exit code."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("a fork", timeout)
        return self.returncode

    def communicate(self, timeout=None):
        """Read all that it says, until it has ended."""
        self.stdin.close()
        with ThreadPoolExecutor(2) as readers:
            said = [*readers.map(lambda pipe: pipe.read(), (self.stdout, self.stderr))]
        self.wait(timeout)
        return said


@contextmanager
def forked_commands():
    """Start commands of pyscale as forks, which do not outlive the block."""
    with ExitStack() as ends:

        def start(*words):
            process = Forked(["-m", "pyscale", *words], dict(os.environ), OF_COMMANDS)
            ends.enter_context(process)
            ends.callback(process.kill)
            return process

        yield start


def _become(words, variables, folder, ends):
    os.setsid()
    for number, end in enumerate(ends):
        os.dup2(end.fileno(), number)
        end.close()
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115 - by their numbers
    sys.stderr = open(2, "w", buffering=1)  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    # What Python does at its start.
    sys.orig_argv = [sys.executable, *words]
    sys.path[:0] = [*filter(None, variables.get("PYTHONPATH", "").split(os.pathsep))]
    sys.modules.pop("sitecustomize", None)
    with suppress(ImportError):
        importlib.import_module("sitecustomize")
    try:
        if words[0] == "-m":
            sys.argv = words[1:]
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = words
            runpy.run_path(words[0], run_name="__main__")
    finally:
        atexit._run_exitfuncs()

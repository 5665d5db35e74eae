"""NVIDIA's Multi-Process Service (MPS): one for each trial whose workers share a GPU at once.

A client that finds no service computes without one and does not say so, so `Service.was_used` is
asked after the workers have ended. (mps in `--device mps` is Apple's Metal, and not this.)
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from watchfiles import watch

from pyscale.errors import UserError, last_line
from pyscale.executors.containernode import MPS_VARIABLE, own_folders
from pyscale.interruption import ENDING, blocked
from pyscale.processes import wait_until_ended

PROGRAM = "nvidia-cuda-mps-control"
UNUSED = {MPS_VARIABLE: os.devnull}
"""Variables of a worker that is to find no service, whoever has started one on the machine."""
LIMIT_S = 30.0
"""How long it may take to start, to answer, and to end once nobody uses it."""
_SOCKET = "control_privileged"
_LONGEST_SOCKET = 107
"""Bytes of a socket's path that Linux takes (sun_path, unix(7))."""


@dataclass(frozen=True)
class Service:
    """A service that runs; its folder holds its sockets and its logs."""

    folder: Path

    @property
    def variables(self) -> dict[str, str]:
        """By which workers, and whoever speaks to it, find it."""
        return {
            MPS_VARIABLE: str(self.folder / "pipe"),
            "CUDA_MPS_LOG_DIRECTORY": str(self.folder / "log"),
        }

    def was_used(self) -> bool:
        """Whether any worker computed through it: its server starts with the first of them."""
        asked = self._ask("get_server_list")
        # Servers are listed by their process ids.
        return asked is not None and any(word.isdigit() for word in asked.split())

    def last_words(self) -> str:
        """What it said last in its logs; empty where it said nothing."""
        logs = (self.folder / "log" / name for name in ("server.log", "control.log", "start.log"))
        return next(filter(None, map(last_line, logs)), "")

    def start(self, gpu: str) -> None:
        """Start it for one GPU, and return when it answers."""
        for name in ("pipe", "log"):
            (self.folder / name).mkdir()
        environment = os.environ | self.variables | {"CUDA_VISIBLE_DEVICES": gpu}
        if gpu.isdigit():
            # It would number anew the GPUs that it sees, and the workers' number would be another.
            del environment["CUDA_VISIBLE_DEVICES"]
        try:
            # Into a file: who reads a pipe would wait for the daemon to close it.
            with (self.folder / "log" / "start.log").open("wb") as said:
                returncode = subprocess.run(
                    [PROGRAM, "-d"],
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    # The terminal's Ctrl-C is not for it: its workers end first.
                    start_new_session=True,
                    timeout=LIMIT_S,
                    check=False,
                ).returncode
        except FileNotFoundError as error:
            raise absent() from error
        except subprocess.TimeoutExpired:
            returncode = None
        if returncode != 0 or not self._answers():
            raise UserError(
                f"NVIDIA's MPS does not start here ({self.last_words() or 'no output'}): if "
                "nvidia-smi -q -d COMPUTE shows Exclusive_Process, which allows only one MPS, "
                "end other work on the GPU; or leave mps out of gpu_sharing"
            )

    def end(self) -> None:
        """End it and what it has started, and delete its folder."""
        daemon = self._daemon()
        if daemon is not None:
            family = [daemon]
            # Asked for now: once the daemon has ended, nothing leads to them.
            with suppress(psutil.NoSuchProcess):
                family += daemon.children(recursive=True)
            self._ask("quit")
            stubborn = wait_until_ended(family, LIMIT_S)
            for process in stubborn:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            wait_until_ended(stubborn)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        """Whether it answers in time: its daemon may still make its socket when it is started."""
        deadline = time.monotonic() + LIMIT_S
        for _ in watch(self.folder / "pipe", rust_timeout=100, yield_on_timeout=True, step=5):
            if self._daemon() is not None and self._ask("get_server_list") is not None:
                return True
            if time.monotonic() > deadline:
                break
        return False

    def _ask(self, command: str) -> str | None:
        """Give it a command; return what it says, None where it does not take it."""
        try:
            asked = subprocess.run(
                [PROGRAM],
                env=os.environ | self.variables,
                input=f"{command}\n",
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return asked.stdout if asked.returncode == 0 else None

    def _daemon(self) -> psutil.Process | None:
        """Its process, by the file in which it leaves its id; None where it has ended."""
        with suppress(OSError, ValueError, psutil.Error):
            process = psutil.Process(int((self.folder / "pipe" / f"{PROGRAM}.pid").read_text()))
            # The number may be another's by now.
            if any(Path(word).name == PROGRAM for word in process.cmdline()):
                return process
        return None


@contextmanager
def service(run: Path, gpu: str) -> Iterator[Service]:
    """Run a service for one GPU, named as in `CUDA_VISIBLE_DEVICES`, as long as the block lasts.

    It ends when nobody uses it any more, so who leaves the block by an error ends the workers
    first. `end_left` finds by the folder of the run what a killed pyscale leaves.
    """
    own = Service(Path(tempfile.mkdtemp(prefix=_prefix(run))))
    try:
        longest = own.folder / "pipe" / _SOCKET
        if len(os.fsencode(longest)) > _LONGEST_SOCKET:
            raise UserError(
                f"{longest} is too long for a socket of NVIDIA's MPS: set TMPDIR to a folder with "
                "a shorter path"
            )
        own.start(gpu)
        yield own
    finally:
        with blocked(*ENDING):
            own.end()


def end_left(run: Path) -> int:
    """End the services of a run that a killed pyscale left on this machine; return how many."""
    left = own_folders(_prefix(run))
    for folder in left:
        Service(folder).end()
    return len(left)


def is_installed() -> bool:
    """Whether the service's program is on PATH."""
    return shutil.which(PROGRAM) is not None


def absent() -> UserError:
    """Why there is no service, and the way to it."""
    return UserError(
        f"gpu_sharing mps needs NVIDIA's Multi-Process Service, but {PROGRAM} is not on PATH: "
        "install it (on Ubuntu in nvidia-compute-utils of the driver's version), or leave mps "
        "out of gpu_sharing"
    )


def _prefix(run: Path) -> str:
    # The run's folder in full would leave nothing of what a socket's path may have.
    return f"pyscale-mps-{hashlib.sha256(os.fsencode(run)).hexdigest()[:8]}-"

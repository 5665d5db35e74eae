"""The launcher: starts one task's process on the node, watches it, and says how it ended.

It runs inside the job that submitit starts, before anything heavy is imported, so it knows
the records it reads and writes by their keys alone.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyscale_stages.atomic import write_atomically
from pyscale_stages.measure.spans import SPAWN_VARIABLE

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
EXIT_NO_PROGRAM = 127
"""Exit code of a task whose program could not be started, as shells have it."""


def launch(folder: str) -> int | None:
    """Run the task whose order lies in `folder` and return its exit code.

    Parameters
    ----------
    folder : str
        Folder with `order.json`; stdout, stderr, `launch.json` and `exit.json` go there too.
    """
    task = Path(folder)
    order = json.loads((task / "order.json").read_text(encoding="utf-8"))
    _end_with_parent()
    _lead_a_session()
    _adopt_orphans()
    if order["cpus"]:
        os.sched_setaffinity(0, order["cpus"])
    with _environment(order) as environment:
        returncode = _run(task, order, environment)
        _end_orphans()
    _write(
        task / "exit.json",
        token=order["token"],
        returncode=returncode,
        end_utc=datetime.now(UTC).isoformat(),
    )
    return returncode


def _run(task: Path, order: dict[str, Any], environment: dict[str, str]) -> int:
    prefix = order["container"]["variable_prefix"] if order["container"] else ""
    with (task / "stdout").open("wb") as stdout, (task / "stderr").open("wb") as stderr:
        spawn_utc = datetime.now(UTC)
        environment[prefix + SPAWN_VARIABLE] = repr(time.monotonic())
        try:
            process = subprocess.Popen(
                order["argv"],
                cwd=task,
                env=environment,
                stdout=stdout,
                stderr=stderr,
                stdin=subprocess.DEVNULL,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - no other thread runs here
            )
        except OSError as error:
            stderr.write(
                f"{order['argv'][0]} cannot be started on {socket.gethostname()} "
                f"({error.strerror}): install it there at the same path\n".encode()
            )
            return EXIT_NO_PROGRAM
    signal.signal(signal.SIGTERM, lambda received, _frame: process.send_signal(received))
    _write(
        task / "launch.json",
        pid=process.pid,
        node=socket.gethostname(),
        spawn_utc=spawn_utc.isoformat(),
        cpus=sorted(os.sched_getaffinity(0)),
    )
    if not order["container"]:
        return process.wait()
    guard = _guard(process.pid)
    returncode = process.wait()
    os.kill(guard, signal.SIGKILL)
    os.waitpid(guard, 0)
    return returncode


def _environment(order: dict[str, Any]) -> AbstractContextManager[dict[str, str]]:
    if order["container"] is None:
        return nullcontext(os.environ | order["env"])
    from pyscale.executors.containernode import prepared

    return prepared(order["container"], order["env"])


def _write(path: Path, **record: Any) -> None:
    write_atomically(path, json.dumps(record) + "\n")


def _end_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies: no task outlives its job."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _lead_a_session() -> None:
    """Mark all that the task starts as of one family, also when its parents are gone."""
    # Whoever leads a session or a group of processes already has what this is for.
    with suppress(PermissionError):
        os.setsid()


def _adopt_orphans() -> None:
    """Become the parent of processes that the task starts and leaves behind."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1)


def _guard(pid: int) -> int:
    """Start a process that kills a container once this process is gone; return its id.

    The kernel forgets the wish of `_end_with_parent` when a process takes other rights, and that
    is how a container begins.
    """
    read_end, write_end = os.pipe()
    guard = os.fork()
    if guard:
        os.close(read_end)
        return guard
    os.close(write_end)
    # Only this process's parent holds the other end, so the read returns when that has gone.
    os.read(read_end, 1)
    import psutil

    with suppress(psutil.NoSuchProcess):
        program = psutil.Process(pid)
        for process in (*program.children(recursive=True), program):
            with suppress(psutil.NoSuchProcess):
                process.kill()
    os._exit(0)


def _end_orphans() -> None:
    """Kill what a task left behind, so that nothing of it disturbs the next.

    A container program that is killed leaves the process that mounts its image.
    """
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, os.WNOHANG)
            import psutil

            for child in psutil.Process().children():
                child.kill()
            os.wait()

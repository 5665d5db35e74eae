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
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyscale_stages.atomic import write_atomically
from pyscale_stages.measure.spans import SPAWN_VARIABLE

PR_SET_PDEATHSIG = 1


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
    if order["cpus"]:
        os.sched_setaffinity(0, order["cpus"])
    with (task / "stdout").open("wb") as stdout, (task / "stderr").open("wb") as stderr:
        spawn_utc = datetime.now(UTC)
        environment = os.environ | order["env"] | {SPAWN_VARIABLE: repr(time.monotonic())}
        process = subprocess.Popen(
            order["argv"],
            cwd=task,
            env=environment,
            stdout=stdout,
            stderr=stderr,
            stdin=subprocess.DEVNULL,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 - no other thread runs here
        )
    signal.signal(signal.SIGTERM, lambda received, _frame: process.send_signal(received))
    _write(
        task / "launch.json",
        pid=process.pid,
        node=socket.gethostname(),
        spawn_utc=spawn_utc.isoformat(),
        cpus=sorted(os.sched_getaffinity(0)),
    )
    returncode = process.wait()
    _write(
        task / "exit.json",
        token=order["token"],
        returncode=returncode,
        end_utc=datetime.now(UTC).isoformat(),
    )
    return returncode


def _write(path: Path, **record: Any) -> None:
    write_atomically(path, json.dumps(record) + "\n")


def _end_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies: no task outlives its job."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

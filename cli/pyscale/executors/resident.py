"""The resident launcher: starts one warm worker on the node, and has it do tasks one by one.

Run as `python -m pyscale.executors.resident FOLDER [PARENT]`. FOLDER holds the worker's own
`order.json`, as a task's folder does, and takes its records. Tasks come as lines on stdin,
`{"folder": "…", "token": "…"}`, and get the records that `launch` would write. On stdout a line
says when the worker is ready, and one for each task that it has ended; `alive` in them is whether
it can do another. It ends when stdin or the worker does. Like `launch` it imports nothing heavy.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyscale.executors import launch
from pyscale.interruption import end_with_parent


def attend(folder: str, parent: int | None = None) -> int:
    """Start the worker whose order lies in `folder`, and give it tasks until stdin ends.

    It does not outlive the parent, by default the process that started this one. Returns the exit
    code of the worker; 0 where its order is gone.
    """
    end_with_parent(parent or os.getppid())
    home = Path(folder)
    order = launch.read(home / "order.json")
    if order is None:
        return 0
    launch.settle_in(order)
    with launch.environment_of(order) as environment:
        begin_utc = datetime.now(UTC)
        process = launch.started(
            home, order, environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        if process is None:
            _attend_none(home)
            return launch.EXIT_NO_PROGRAM
        launch.write_launch(home, order, process.pid, (begin_utc, datetime.now(UTC)))
        with launch.guarded(process.pid, order):
            _Worker(home, process).attend()
            returncode = process.wait()
        launch.end_orphans()
    launch.write_exit(home, order, returncode)
    return returncode


class _Worker:
    def __init__(self, home: Path, process: subprocess.Popen[bytes]) -> None:
        self._home = home
        self._process = process
        signal.signal(signal.SIGTERM, lambda received, _frame: process.send_signal(received))

    def attend(self) -> None:
        """Say when it is ready, and do tasks until there are none, or it has ended."""
        alive = self._hear() is not None
        _say(ready=alive, alive=alive)
        for line in sys.stdin:
            asked = json.loads(line)
            returncode = self._do(Path(asked["folder"]), asked["token"])
            alive = self._process.poll() is None
            _say(folder=asked["folder"], returncode=returncode, alive=alive)
            if not alive:
                break
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def _do(self, task: Path, token: str) -> int | None:
        begin_utc = datetime.now(UTC)
        order = launch.standing(task, token)
        if order is None:
            return None
        spawn_utc = datetime.now(UTC)
        asked = {
            "folder": str(task),
            "arguments": order["arguments"],
            "spawn_monotonic_s": time.monotonic(),
        }
        launch.write_launch(task, order, self._process.pid, (begin_utc, spawn_utc))
        assert self._process.stdin is not None
        # Whether it has ended, its answer tells.
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")
            self._process.stdin.flush()
        answer = self._hear()
        if answer is None:
            # What the worker said is the task's stderr.
            with (self._home / "stderr").open("rb") as said, (task / "stderr").open("ab") as stderr:
                shutil.copyfileobj(said, stderr)
        returncode = self._process.wait() if answer is None else int(answer["returncode"])
        if launch.stands(task, order):
            launch.write_exit(task, order, returncode)
        return returncode

    def _hear(self) -> Any:
        """The worker's next answer; None where it has ended."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        # Half a line, or none, is what a worker that died has left.
        if not line.endswith(b"\n"):
            self._process.wait()
            return None
        return json.loads(line)


def _attend_none(home: Path) -> None:
    """Let the next task fail with what the worker would have said."""
    _say(ready=False, alive=False)
    asked = json.loads(sys.stdin.readline() or "null")
    if asked is None:
        return
    task = Path(asked["folder"])
    order = launch.standing(task, asked["token"])
    if order is not None:
        shutil.copyfile(home / "stderr", task / "stderr")
        launch.write_exit(task, order, launch.EXIT_NO_PROGRAM)
    _say(folder=asked["folder"], returncode=launch.EXIT_NO_PROGRAM, alive=False)


def _say(**record: Any) -> None:
    # Nobody may be left to hear it: stdin ends then, too.
    with suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(record) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(attend(sys.argv[1], *map(int, sys.argv[2:])))

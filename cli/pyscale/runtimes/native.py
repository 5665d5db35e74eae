"""The native runtime: a task runs in this environment's own interpreter."""

from __future__ import annotations

import sys
from pathlib import Path

from pyscale.runtimes.protocol import Start
from pyscale.store.records import PARAMS_FILE, RESULT_FILE
from pyscale_stages.contract import TaskSpec


class NativeRuntime:
    """Starts tasks with the Python that runs pyscale."""

    def start(self, spec: TaskSpec, folder: Path, image: str | None) -> Start:  # noqa: ARG002
        """How to start a task."""
        return Start(tuple(command(spec, folder / PARAMS_FILE, folder / RESULT_FILE)))


def command(spec: TaskSpec, params_file: Path, result_file: Path) -> list[str]:
    """Command line of a task's process."""
    return [
        sys.executable,
        "-m",
        "pyscale_stages",
        *spec.command_line(params_file, result_file),
    ]

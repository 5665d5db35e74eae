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
        """How to start a task.

        What it writes is named from its own folder, where the process works: one that outlives its
        try, as on a node that Slurm has given up, then writes into the folder that was set aside,
        and not into that of the next try.
        """
        if spec.output is not None:
            spec = spec.model_copy(update={"output": spec.output.relative_to(folder)})
        return Start(tuple(command(spec, folder / PARAMS_FILE, Path(RESULT_FILE))))


def command(spec: TaskSpec, params_file: Path, result_file: Path) -> list[str]:
    """Command line of a task's process."""
    return [
        sys.executable,
        "-m",
        "pyscale_stages",
        *spec.command_line(params_file, result_file),
    ]

"""The native runtime: a task runs in this environment's own interpreter."""

from __future__ import annotations

import sys
from pathlib import Path

from pyscale.runtimes.protocol import Start, serving
from pyscale.store.records import PARAMS_FILE, RESULT_FILE
from pyscale_stages.contract import TaskSpec


class NativeRuntime:
    """Starts tasks with the Python that runs pyscale, or with that of another environment.

    Parameters
    ----------
    interpreter : Path, optional
        Of the other environment.
    """

    def __init__(self, interpreter: Path | None = None) -> None:
        self._interpreter = interpreter

    def start(self, spec: TaskSpec, folder: Path, image: str | None) -> Start:  # noqa: ARG002
        """How to start a task.

        What it writes is named from its own folder, where the process works: one that outlives its
        try, as on a node that Slurm has given up, then writes into the folder that was set aside,
        and not into that of the next try.
        """
        if spec.output is not None:
            spec = spec.model_copy(update={"output": spec.output.relative_to(folder)})
        line = command(spec, folder / PARAMS_FILE, Path(RESULT_FILE), self._interpreter)
        return Start(tuple(line), arguments=tuple(line[len(_program(None)) :]))

    def serve(self, spec: TaskSpec, folder: Path, tasks: Path, image: str | None) -> Start:  # noqa: ARG002
        """How to start a warm worker."""
        return Start((*_program(self._interpreter), spec.stage, *serving(spec, folder)))


def command(
    spec: TaskSpec, params_file: Path, result_file: Path, interpreter: Path | None = None
) -> list[str]:
    """Command line of a task's process."""
    return [*_program(interpreter), *spec.command_line(params_file, result_file)]


def _program(interpreter: Path | None) -> tuple[str, str, str]:
    return (str(interpreter or sys.executable), "-m", "pyscale_stages")

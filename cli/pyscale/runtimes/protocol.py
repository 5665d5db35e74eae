"""Interface of a runtime, which says how a task's process is started, and the native one."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pyscale.store.records import PARAMS_FILE, RESULT_FILE, ContainerOrder
from pyscale_stages.contract import TaskSpec


@dataclass(frozen=True)
class Start:
    """How a task's process is started."""

    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    container: ContainerOrder | None = None
    """What the node adds where a container program starts the process."""


class Runtime(Protocol):
    """Says how a task is started; it starts nothing."""

    def start(self, spec: TaskSpec, folder: Path, image: str | None) -> Start:
        """How to start a task, whose folder holds its parameters, in the image of the plan."""


class NativeRuntime:
    """Starts tasks with the Python that runs pyscale, or with that of another environment."""

    def __init__(self, interpreter: Path | None = None) -> None:
        self._program = (str(interpreter or sys.executable), "-m", "pyscale_stages")

    def start(self, spec: TaskSpec, folder: Path, image: str | None) -> Start:  # noqa: ARG002
        """How to start a task."""
        # A process that outlives its try, as on a node that Slurm has given up, then writes into
        # the folder that was set aside, and not into that of the next try.
        if spec.output is not None:
            spec = spec.model_copy(update={"output": spec.output.relative_to(folder)})
        words = spec.command_line(folder / PARAMS_FILE, Path(RESULT_FILE))
        return Start((*self._program, *words))

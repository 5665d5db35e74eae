"""What the main path asks of a way to start a task's process."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pyscale.store.records import ContainerOrder
from pyscale_stages.contract import TaskSpec


@dataclass(frozen=True)
class Start:
    """How a task's process is started."""

    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    """Variables that the task itself must see."""
    container: ContainerOrder | None = None
    """What the node adds where a container program starts the process."""


class Runtime(Protocol):
    """Says how a task is started; it starts nothing."""

    def start(self, spec: TaskSpec, folder: Path, image: str | None) -> Start:
        """How to start a task.

        Parameters
        ----------
        spec : TaskSpec
        folder : Path
            The task's folder, which holds its parameters and takes its record.
        image : str or None
            Name of the image that the plan gives the task.
        """

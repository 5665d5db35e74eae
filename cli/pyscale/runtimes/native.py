"""The native runtime: a task runs in this environment's own interpreter."""

from __future__ import annotations

import sys
from pathlib import Path

from pyscale_stages.contract import TaskSpec


def command(spec: TaskSpec, params_file: Path, result_file: Path) -> list[str]:
    """Command line of a task's process."""
    return [
        sys.executable,
        "-m",
        "pyscale_stages",
        *spec.command_line(params_file, result_file),
    ]

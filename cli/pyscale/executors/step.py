"""What srun starts for each task of a step: makes room for its files, and launches it.

Run as `python -m pyscale.executors.step FOLDER TOKEN [FOLDER TOKEN …]`, by rank; with one FOLDER
alone it attends the warm worker of that folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pyscale.executors.launch import launch
from pyscale.executors.resident import attend


def main(arguments: Sequence[str]) -> None:
    """Launch the task of this rank of the step, or attend its worker."""
    # The lines of shell that a job begins with made it on the first of its nodes alone.
    with suppress(OSError, KeyError):
        Path(os.environ["TMPDIR"]).mkdir(parents=True, exist_ok=True)
    if len(arguments) == 1:
        attend(arguments[0])
    else:
        launch(*_of_rank(arguments, int(os.environ["SLURM_PROCID"])))


def _of_rank(arguments: Sequence[str], rank: int) -> tuple[str, str]:
    return arguments[2 * rank], arguments[2 * rank + 1]


if __name__ == "__main__":
    main(sys.argv[1:])

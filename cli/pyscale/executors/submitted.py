"""submitit's own program, which starts a task, without what only other functions need.

Run as `python -m pyscale.executors.submitted FOLDER`, by Slurm or the controller on this machine.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def command_line(folder: Path) -> str:
    """Line of shell that runs what was submitted into a folder."""
    return shlex.join([sys.executable, "-u", "-m", __name__, str(folder)])


if __name__ == "__main__":
    # submitit imports it where it is there, before any function: half of the time of a launcher, on
    # the cores that are measured. A module that is None is one that is not there.
    sys.modules["numpy"] = None  # type: ignore[assignment]
    from submitit.core.submission import submitit_main

    del sys.modules["numpy"]
    submitit_main()

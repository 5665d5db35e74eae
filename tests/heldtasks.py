"""Tasks of pyscale that stand still at their start, for as long as a test wants it."""

from __future__ import annotations

import os
from pathlib import Path

NO_FIGURES = Path(__file__).resolve().parent / "nofigures" / "sitecustomize.py"
# Python runs it before the program. A pipe is opened when somebody opens its other end.
WAIT = """\
import contextlib, sys
if "pyscale_stages" in sys.orig_argv:
    with contextlib.suppress(FileNotFoundError):
        open({pipe!r}).read()
"""


class HeldTasks:
    """Tasks of whoever has a folder on its PYTHONPATH.

    Parameters
    ----------
    folder : Path
        Gets what Python runs at its start, and a pipe.
    """

    def __init__(self, folder: Path) -> None:
        self._pipe = folder / "held"
        os.mkfifo(self._pipe)
        (folder / "sitecustomize.py").write_text(
            NO_FIGURES.read_text() + WAIT.format(pipe=str(self._pipe))
        )

    def spare_others(self) -> None:
        """Hold no task that comes from now on; those that stand still do so for ever."""
        self._pipe.unlink()

    def let_go(self) -> None:
        """Let all go on."""
        renamed = self._pipe.rename(self._pipe.with_suffix(".gone"))
        # Opened at both ends at once, which waits for nobody.
        os.close(os.open(renamed, os.O_RDWR))

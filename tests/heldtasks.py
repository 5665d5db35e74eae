"""Tasks of pyscale that stand still at their start, for as long as a test wants it."""

import fcntl
from pathlib import Path

NO_FIGURES = Path(__file__).resolve().parent / "nofigures" / "sitecustomize.py"
# Python runs it before the program. Not by flock, which some tests take away.
WAIT = """\
import contextlib, fcntl, sys
if "pyscale_stages" in sys.orig_argv:
    with contextlib.suppress(FileNotFoundError), open({file!r}) as held:
        fcntl.lockf(held, fcntl.LOCK_SH)
"""


class HeldTasks:
    """Tasks of whoever has a folder on its PYTHONPATH.

    Parameters
    ----------
    folder : Path
        Gets what Python runs at its start, and a locked file.
    """

    def __init__(self, folder):
        self._file = folder / "held"
        self._lock = self._file.open("w")
        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        (folder / "sitecustomize.py").write_text(
            NO_FIGURES.read_text() + WAIT.format(file=str(self._file))
        )

    def spare_others(self):
        """Hold no task that comes from now on; those that stand still do so for ever."""
        self._file.unlink()

    def let_go(self):
        """Let all go on."""
        self._lock.close()

"""Runs a program that ends when the process that asked for it does, even if that is killed.

Run as `python -m pyscale.images.mortal PID PROGRAM …`, where PID is who asks. It stays beside the
program: the container program changes its credentials, and with them the kernel forgets what it
was to do at its parent's death. Nothing heavy is imported.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Run the program and return its exit code."""
    parent, *command = arguments
    with subprocess.Popen(command) as program:
        # The program cleans up when it is told to end, as it does not when it is killed.
        signal.signal(signal.SIGTERM, lambda *_: program.terminate())
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != int(parent):
            program.terminate()
        returncode = program.wait()
    return returncode if returncode >= 0 else 128 - returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

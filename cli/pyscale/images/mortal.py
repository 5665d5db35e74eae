"""Runs a program that ends when the process that asked for it does, even if that is killed.

Run as `python -m pyscale.images.mortal PID PROGRAM …`, where PID is who asks. It stays beside the
program: the container program changes its credentials, and with them the kernel forgets what it
was to do at its parent's death. Nothing heavy is imported.
"""

from __future__ import annotations

import signal
import subprocess
import sys

from pyscale.interruption import end_with_parent


def main(arguments: list[str]) -> int:
    """Run the program and return its exit code."""
    parent, *command = arguments
    with subprocess.Popen(command) as program:
        # The program cleans up when it is told to end, as it does not when it is killed.
        signal.signal(signal.SIGTERM, lambda *_: program.terminate())
        end_with_parent(int(parent), signal.SIGTERM)
        returncode = program.wait()
    return returncode if returncode >= 0 else 128 - returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

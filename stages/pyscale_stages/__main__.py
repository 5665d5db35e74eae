"""`python -m pyscale_stages STAGE VERB …`: the command line of every image."""

import time

MAIN_MONOTONIC_S = time.monotonic()
"""First line of the program: everything before it was the interpreter's start."""

import sys  # noqa: E402

from pyscale_stages.commandline import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], MAIN_MONOTONIC_S))

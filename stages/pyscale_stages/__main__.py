"""`python -m pyscale_stages STAGE VERB …`: the command line of every image."""

import time

MAIN_MONOTONIC_S = time.monotonic()
"""First line of the program: everything before it was the interpreter's start."""

import signal  # noqa: E402
import sys  # noqa: E402

if __name__ == "__main__":
    try:
        from pyscale_stages.commandline import end, main

        end(main(sys.argv[1:], MAIN_MONOTONIC_S))
    except KeyboardInterrupt:
        # A second Ctrl-C would be told by a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.stderr.write("interrupted by Ctrl-C: run the same command again\n")
        sys.exit(128 + signal.SIGINT)

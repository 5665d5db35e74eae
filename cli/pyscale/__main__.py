"""`python -m pyscale`, and the command `pyscale`."""

from __future__ import annotations

import gc
import os
import signal
from types import FrameType

from pyscale.interruption import ENDING


def main() -> None:
    """Run the command line."""
    for each in ENDING:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, _leave)
    # Python looks for garbage after 700 new objects: a tenth of the time of imports and figures.
    gc.set_threshold(100_000)
    # It takes a moment, and Ctrl-C in the middle of an import is a traceback.
    from pyscale.app import main as run_command

    run_command()


def _leave(_number: int, _frame: FrameType | None) -> None:
    """End at once, while nothing has begun or all has ended."""
    os.write(2, b"interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    main()

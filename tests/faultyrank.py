"""A rank that comes to grief while it denoises: the command line of the stages, with one fault.

Run as `python faultyrank.py FAULT STAGE run …`.
"""

import resource
import sys
import time
from pathlib import Path

ROOM_BYTES = 32 << 20
"""What is left to a process that runs out of memory: enough to say so, not for a call."""


def out_of_memory():
    """Leave little room for more than the process has already."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + ROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


FAULTS = {
    # Memory that a call has freed would serve the next one.
    "out_of_memory": (1, out_of_memory),
}
"""What happens, and before which call of the denoiser."""


def main(fault, *arguments):
    """Run a task; the fault happens in an iteration, before a call of the denoiser."""
    from torch.nn.modules.module import register_module_forward_pre_hook

    from pyscale_stages import commandline

    number, happen = FAULTS[fault]
    calls = 0

    def before(module, _given):
        nonlocal calls
        if type(module).__name__ == "DRUNet":
            calls += 1
            if calls == number:
                happen()

    register_module_forward_pre_hook(before)
    return commandline.main(list(arguments), time.monotonic())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""A rank whose memory runs out while it denoises: the command line of the stages, with that fault.

Run as `python faultyrank.py STAGE run …`.
"""

import resource
import sys
import time
from pathlib import Path

ROOM_BYTES = 32 << 20
"""What is left to the process: enough to say so, not for a call."""


def out_of_memory():
    """Leave little room for more than the process has already."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + ROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main(*arguments):
    """Run a task; the fault happens in an iteration, before the first call of the denoiser."""
    from torch.nn.modules.module import register_module_forward_pre_hook

    from pyscale_stages import commandline

    def before(module, _given):
        if type(module).__name__ == "DRUNet":
            # Memory that a call has freed would serve the next one.
            out_of_memory()
            hook.remove()

    hook = register_module_forward_pre_hook(before)
    return commandline.main(list(arguments), time.monotonic())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

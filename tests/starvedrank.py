"""A rank whose memory runs out when it denoises first: else the command line of the stages."""

import resource
import sys
import time
from pathlib import Path

ROOM_BYTES = 32 << 20
"""What is left to a process that runs out of memory: enough to say so, not for a call."""


def leave_little_room(module, _given):
    """Leave little room for more than the process has already.

    Memory that a call has freed would serve the next one.
    """
    if type(module).__name__ == "DRUNet":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + ROOM_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    from torch.nn.modules.module import register_module_forward_pre_hook

    from pyscale_stages import commandline

    register_module_forward_pre_hook(leave_little_room)
    sys.exit(commandline.main(sys.argv[1:], time.monotonic()))

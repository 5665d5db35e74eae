"""What only the node knows when a task starts: scratch space, a container's variables and GPU.

The launcher imports it: nothing heavy, and the order is known by its keys alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyscale_stages.binds import OPTION_PREFIX, VARIABLE_PREFIX

AMD_DEVICE = Path("/dev/kfd")
NVIDIA_DEVICES = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
_NAME = re.compile(r"pyscale-[0-9a-f]{8}-([0-9]+)-\w+")


@contextmanager
def prepared(container: Mapping[str, Any], own: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield the environment that starts an order's `container`; its scratch folder goes with it."""
    inside = {name: os.environ[name] for name in container["passed"] if name in os.environ}
    # A container's own /tmp lies in memory, with room for 64 MB in some installations.
    with scratch(container["scratch_prefix"]) as folder:
        yield {
            **os.environ,
            **{VARIABLE_PREFIX + name: value for name, value in (inside | dict(own)).items()},
            OPTION_PREFIX + "WORKDIR": folder,
            **({OPTION_PREFIX + _gpu_option(): "1"} if container["gpu"] else {}),
        }


@contextmanager
def scratch(prefix: str) -> Iterator[str]:
    """Yield a folder for a task's temporary files, named by its session; it goes with the block."""
    folder = tempfile.mkdtemp(prefix=f"{prefix}{os.getsid(0)}-")
    try:
        yield folder
    finally:
        # A stage that locked its own folder must not cost its record.
        shutil.rmtree(folder, ignore_errors=True)


def scratch_prefix(run: Path) -> str:
    """How the names of a run's scratch folders begin; a copy of the run has its own.

    Short, as tasks put sockets there, and of their paths Linux takes 107 bytes.
    """
    return f"pyscale-{hashlib.sha256(os.fsencode(run)).hexdigest()[:8]}-"


def left_scratch(run: Path) -> dict[Path, int]:
    """Scratch folders on this node that killed launchers of a run left, with their sessions."""
    left = {}
    for folder in Path(tempfile.gettempdir()).glob(f"{scratch_prefix(run)}*"):
        # A folder of a session of this user, and not a link or another's.
        with suppress(FileNotFoundError):
            status, found = folder.lstat(), _NAME.fullmatch(folder.name)
            if found and stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
                left[folder] = int(found[1])
    return left


def _gpu_option() -> str:
    """Name of the option that brings the GPU's driver in; NVIDIA's where there is no AMD GPU."""
    amd = AMD_DEVICE.exists() and not any(device.exists() for device in NVIDIA_DEVICES)
    return "ROCM" if amd else "NV"

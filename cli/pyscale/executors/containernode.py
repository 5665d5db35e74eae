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
from pyscale_stages.measure.nodename import host_name

AMD_DEVICE = Path("/dev/kfd")
NVIDIA_DEVICES = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
_NODE_FILE = ".node"
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
        # Nodes may share the folder that it lies in, and count their sessions alike.
        Path(folder, _NODE_FILE).write_text(host_name(), encoding="utf-8")
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
    return _sessions(scratch_prefix(run))


def dead_scratch() -> list[Path]:
    """Scratch folders of any run whose session on this node has ended."""
    import psutil

    living = set()
    for pid in psutil.pids():
        with suppress(OSError):
            living.add(os.getsid(pid))
    return [
        folder
        for folder, session in _sessions("pyscale-").items()
        if session not in living and _made_on_this_node(folder)
    ]


def _sessions(prefix: str) -> dict[Path, int]:
    return {
        folder: int(found[1])
        for folder in _own_folders(prefix)
        if (found := _NAME.fullmatch(folder.name))
    }


def _made_on_this_node(folder: Path) -> bool:
    with suppress(OSError, UnicodeDecodeError):
        return (folder / _NODE_FILE).read_text(encoding="utf-8") == host_name()
    return False


def _own_folders(prefix: str) -> list[Path]:
    """Folders for temporary files of this user on this node, by how their names begin."""
    found = []
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(FileNotFoundError):
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
                found.append(path)
    return found


def _gpu_option() -> str:
    """Name of the option that brings the GPU's driver in; NVIDIA's where there is no AMD GPU."""
    amd = AMD_DEVICE.exists() and not any(device.exists() for device in NVIDIA_DEVICES)
    return "ROCM" if amd else "NV"

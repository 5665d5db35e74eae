"""What only the node knows when a container starts: variables, the GPU's maker, scratch space.

Imported by the launcher before anything heavy, so it knows the order by its keys alone.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

AMD_DEVICE = Path("/dev/kfd")
NVIDIA_DEVICES = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
MPS_VARIABLE = "CUDA_MPS_PIPE_DIRECTORY"
"""Names the folder of sockets by which workers share an NVIDIA GPU at once."""


@contextmanager
def prepared(container: Mapping[str, Any], own: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield the environment that starts a container; its scratch folder goes with the block.

    Parameters
    ----------
    container : mapping
        The order's `container`.
    own : mapping of str to str
        Variables of the task itself.
    """
    inside = {name: os.environ[name] for name in container["passed"] if name in os.environ}
    prefix, option = container["variable_prefix"], container["option_prefix"]
    # A container's own /tmp lies in memory, with room for 64 MB in some installations. The name
    # tells whoever finds the folder after a crash which session it belonged to.
    scratch = tempfile.mkdtemp(prefix=f"{container['scratch_prefix']}{os.getsid(0)}-")
    try:
        yield {
            **os.environ,
            **{prefix + name: value for name, value in (inside | dict(own)).items()},
            option + "WORKDIR": scratch,
            **({option + _gpu_option(): "1"} if container["gpu"] else {}),
            **_sockets(option, own),
        }
    finally:
        # A stage that locked its own folder must not cost its record.
        shutil.rmtree(scratch, ignore_errors=True)


def _sockets(option_prefix: str, own: Mapping[str, str]) -> dict[str, str]:
    """Option that shows a task the sockets by which it shares a GPU, where it does."""
    folder = own.get(MPS_VARIABLE)
    if folder is None or not Path(folder).is_dir():
        return {}
    name = f"{option_prefix}BIND"
    # The container program takes what stands here beside what its command line binds.
    return {name: ",".join(filter(None, (os.environ.get(name), f"{folder}:{folder}")))}


def scratch_prefix(run: Path) -> str:
    """How the names of a run's scratch folders begin, on every node.

    Parameters
    ----------
    run : Path
        The run's folder.
    """
    return f"pyscale-{run.name}-"


def left_scratch(run: Path) -> dict[Path, int]:
    """Scratch folders on this node that killed launchers of a run left, with their sessions."""
    prefix = scratch_prefix(run)
    folders = Path(tempfile.gettempdir()).glob(f"{prefix}*")
    return {folder: int(folder.name.removeprefix(prefix).partition("-")[0]) for folder in folders}


def _gpu_option() -> str:
    """Name of the option that brings the GPU's driver in; NVIDIA's where there is no AMD GPU."""
    amd = AMD_DEVICE.exists() and not any(device.exists() for device in NVIDIA_DEVICES)
    return "ROCM" if amd else "NV"

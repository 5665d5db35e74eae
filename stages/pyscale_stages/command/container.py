"""Starts a command in an Apptainer image of the user's own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pyscale_stages.binds import OPTIONS, task_binds
from pyscale_stages.contract import Device
from pyscale_stages.errors import BadInput, MissingPart

ENGINES = ("apptainer", "singularity")
AMD_DEVICE, NVIDIA_DEVICE = Path("/dev/kfd"), Path("/dev/nvidiactl")


def in_container(
    words: Sequence[str],
    image: Path,
    folder: Path,
    *,
    reads: Iterable[Path],
    writes: Iterable[Path],
    output: Path,
    scratch: Path,
    environment: Mapping[str, str],
    device: Device,
) -> list[str]:
    """Command line that runs words in an image, which need not know pyscale.

    Inputs and the step's folder are seen at their own paths and cannot be written; the folder of
    the output can.

    Parameters
    ----------
    words : sequence of str
    image : Path
    folder : Path
        Folder that it runs in.
    reads, writes : iterable of Path
        Files and folders that it sees, and folders that it writes into beside the output.
    output : Path
        Folder that it writes into.
    scratch : Path
        Folder for its temporary files.
    environment : mapping of str to str
        Variables that it sees.
    device : {"cpu", "cuda", "mps"}

    Raises
    ------
    BadInput, MissingPart
        As `engine_for` does.
    """
    # Root needs no privileges of the host here, and where it is one of a sandbox it has none.
    userns = ["--userns"] if os.geteuid() == 0 else []
    line = [engine_for(image), "exec", *userns, *OPTIONS, "--pwd", str(folder)]
    # A container's own /tmp lies in memory, with room for 64 MB in some installations.
    line += ["--workdir", str(scratch)]
    if device == "cuda":
        line.append("--rocm" if AMD_DEVICE.exists() and not NVIDIA_DEVICE.exists() else "--nv")
    for bind in task_binds(output, [*reads, folder], writes):
        line += bind.option()
    for name, value in environment.items():
        line += ["--env", f"{name}={value}"]
    return [*line, str(image), *words]


def engine_for(image: Path) -> str:
    """Container program of this machine, for an image that is there.

    Raises
    ------
    BadInput
        If there is no such image.
    MissingPart
        If this machine has no container program.
    """
    if not image.is_file():
        raise BadInput(f"there is no image {image}: name the path of a .sif file")
    engine = next(filter(None, map(shutil.which, ENGINES)), None)
    if engine is None:
        raise MissingPart(
            f"the step runs in {image.name}, and this machine has neither "
            f"{' nor '.join(ENGINES)}: install Apptainer, or name an environment"
        )
    return engine

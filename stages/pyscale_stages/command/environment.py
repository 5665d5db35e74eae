"""Where a step runs: its variables, program, image, and the versions of what it uses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING

from pyscale_stages.binds import OPTIONS, VARIABLE_PREFIX, task_binds
from pyscale_stages.command.params import SCRIPTS, CommandParams, fields_of
from pyscale_stages.contract import Device
from pyscale_stages.declaration import Needs
from pyscale_stages.errors import BadInput, MissingPart
from pyscale_stages.hashing import sha256_of

if TYPE_CHECKING:
    from pyscale_stages.trying import Trying


ENGINE = "apptainer"
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
    device: Device,
) -> list[str]:
    """Command line that runs words in an image, which need not know pyscale.

    It runs in `folder`. Inputs (`reads`) and that folder are seen at their own paths and cannot be
    written; `writes`, and the folder of the output, can.
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
    return [*line, str(image), *words]


def seen_inside(variables: Mapping[str, str]) -> dict[str, str]:
    """Variables for the container program's own process, by which these reach the inside."""
    # By its option --env a comma would begin another variable.
    return {f"{VARIABLE_PREFIX}{name}": value for name, value in variables.items()}


def engine_for(image: Path) -> str:
    """Container program of this machine, for an image that is there."""
    if not image.is_file():
        raise BadInput(f"there is no image {image}: name the path of a .sif file")
    engine = shutil.which(ENGINE)
    if engine is None:
        raise MissingPart(
            f"the step runs in {image.name}, and this machine has no {ENGINE}: install Apptainer, "
            "or name an environment"
        )
    return engine


MOST_HASHED_BYTES = 1 << 20
"""A larger program is known by its own version, and reading it all would take measured time."""


LOAD = """
inits="${LMOD_PKG:-/none}/init/bash ${MODULESHOME:-/none}/init/bash"
inits="$inits /etc/profile.d/lmod.sh /etc/profile.d/modules.sh"
for init in $inits; do
    if type module; then break; fi
    if [ -r "$init" ]; then . "$init"; fi
done >/dev/null 2>&1
module load "$@" >&2 && exec env -0
"""
"""What bash does to load modules: a shell that is no login knows `module` only at some sites."""
NO_MODULES = 127


def environment_of(params: CommandParams) -> dict[str, str]:
    """Variables that the command sees outside of an image: of its modules, then of its prefix."""
    variables = dict(_loaded(params.modules)) if params.modules else dict(os.environ)
    if params.environment is None:
        return variables
    prefix = params.environment
    if not (prefix / "bin").is_dir():
        raise BadInput(
            f"{prefix} is not the prefix of an environment (it has no folder bin): name the prefix"
        )
    kind = "CONDA_PREFIX" if (prefix / "conda-meta").is_dir() else "VIRTUAL_ENV"
    path = f"{prefix / 'bin'}{os.pathsep}{variables.get('PATH', '')}"
    return {**variables, "PATH": path, kind: str(prefix)}


@cache
def _loaded(modules: tuple[str, ...]) -> dict[str, str]:
    """Variables of this process once these modules are loaded."""
    asked = subprocess.run(
        ["bash", "-c", LOAD, "bash", *modules],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        # Variables may hold bytes of any encoding.
        errors="surrogateescape",
        check=False,
    )
    names = " ".join(modules)
    if asked.returncode == NO_MODULES:
        raise MissingPart(
            f"the step loads the modules {names}, and this machine has no command module: run it "
            "where it is, or name an environment or an image"
        )
    if asked.returncode != 0:
        said = " ".join(asked.stderr.split())
        raise BadInput(f"the modules {names} cannot be loaded ({said}): see `module avail`")
    return dict(line.split("=", 1) for line in asked.stdout.split("\0") if "=" in line)


def found_program(params: CommandParams) -> str:
    """Where the program of a step lies, or the image that should have it."""
    if params.image is not None:
        engine_for(params.image)
        return str(params.image)
    path = environment_of(params).get("PATH", os.defpath)
    program = "/bin/sh" if params.shell else params.command[0]
    if fields_of(program):
        return program
    here = params.folder / program if os.sep in program else None
    found = shutil.which(str(here or program), path=path)
    if found is None:
        raise MissingPart(
            f"the program {program!r} of the step is not found on this machine, or may not be run: "
            "install it, write its path, make it executable (`chmod +x`), or name the environment "
            "or the image that has it"
        )
    return found


def versions_of(params: CommandParams) -> dict[str, str]:
    """Versions of the step's packages and modules, and a checksum of each script it names."""
    words = [word for text in params.command for word in text.split()]
    files = (params.folder / word for word in words if not fields_of(word))
    found = {
        file.name: f"sha256 {sha256_of(file)[:12]}"
        for file in files
        if file.is_file() and file.stat().st_size <= MOST_HASHED_BYTES
    }
    for name in params.packages:
        prefix = params.environment or Path(found_program(params)).absolute().parent.parent
        found[name] = _version(name, prefix)
    if params.modules:
        # Those of the step, and what these load.
        for module in environment_of(params).get("LOADEDMODULES", "").split(":"):
            name, _, version = module.partition("/")
            found[f"module {name}"] = version
    return found


def _version(package: str, prefix: Path) -> str:
    """Version of a package of Python, or of conda, below a prefix."""
    folders = [str(path) for path in prefix.glob("lib/python*/*-packages")]
    for found in distributions(name=package, path=folders):
        return found.version
    for file in prefix.glob(f"conda-meta/{package}-*.json"):
        told = json.loads(file.read_bytes())
        if told["name"] == package:
            return str(told["version"])
    raise BadInput(
        f"the environment {prefix} has no package {package!r}: take it out of packages, or "
        "name the environment that has it"
    )


def look(params: CommandParams, _device: str, here: bool) -> None:
    """Find the program and its version."""
    _refuse_absent_script(params, here=here)
    if here:
        found_program(params)
        versions_of(params)


def _refuse_absent_script(params: CommandParams, *, here: bool) -> None:
    """Raise where the script that an interpreter is to run is not there."""
    words = [word for text in params.command for word in text.split()]
    # What follows an option may be its value; code by -c, and modules by -m, are no files.
    named = next(iter(words[1:]), "")
    if Path(named).suffix not in SCRIPTS or fields_of(named):
        return
    # A path of its own may be one of the image, or of the nodes.
    if Path(named).is_absolute() and (params.image is not None or not here):
        return
    if not (params.folder / named).is_file():
        raise BadInput(
            f"the command runs {named}, which is not a file in {params.folder.absolute()}: correct "
            "its name, or write its path"
        )


def _try_out(trying: Trying) -> None:
    """Find the program."""
    trying.step("find the program")
    where = found_program(trying.params)
    trying.ok("works", f"the program of the step is there: {where}")


NEEDS = Needs(look=look, try_out=_try_out)

"""The program that builds and runs images: Apptainer, or SingularityCE where it stands in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import Literal

from pyscale_stages.errors import MissingPart

EngineName = Literal["apptainer", "singularity-ce"]


@dataclass(frozen=True)
class Engine:
    """An installed container program.

    Parameters
    ----------
    program : str
        Path of the program.
    name : str
        Which of the two it is.
    version : str
        Version as the program tells it.
    """

    program: str
    name: EngineName
    version: str

    @property
    def environment_prefix(self) -> str:
        """What a variable's name begins with, so that it reaches the inside as the rest of it."""
        return "APPTAINERENV_" if self.name == "apptainer" else "SINGULARITYENV_"

    def command(self, verb: str, *arguments: str) -> list[str]:
        """Command line of a verb that starts a container (`exec`, `run`, `test`)."""
        # Root has no need of host privileges here, and where root is one of a sandbox, asking for
        # them fails; other users get what the site's installation gives.
        userns = ["--userns"] if os.geteuid() == 0 else []
        return [self.program, verb, *userns, *arguments]


def find_engine() -> Engine:
    """The container program of this machine.

    Raises
    ------
    MissingPart
        If there is none, or it does not answer.
    """
    found = shutil.which("apptainer") or shutil.which("singularity")
    if found is None:
        raise MissingPart(
            "images need Apptainer, which is not on PATH: load its module (often "
            "`module load apptainer`), install the package 'apptainer', or use --runtime native"
        )
    try:
        answer = subprocess.run([found, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise MissingPart(
            f"{found} does not answer to --version ({error}): install it again"
        ) from (error)
    text = answer.stdout.strip()
    version = re.search(r"\d+\.\d+[\w.+-]*", text)
    name: EngineName = "apptainer" if text.startswith("apptainer") else "singularity-ce"
    return Engine(found, name, version.group() if version else text)

"""The program that builds and runs images: Apptainer, or SingularityCE where it stands in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import Literal

from pyscale_stages.errors import MissingPart

IMAGE_PYTHON = "/opt/pyscale/venv/bin/python"
EngineName = Literal["apptainer", "singularity-ce"]

# SingularityPRO and the releases before the two parted answer like SingularityCE.
_VERSION_ANSWER = re.compile(r"(apptainer|singularity\S*) version (\d\S*)", re.IGNORECASE)


@dataclass(frozen=True)
class Engine:
    """An installed container program."""

    program: str
    """Its path."""
    name: EngineName
    version: str

    @property
    def environment_prefix(self) -> str:
        """What a variable's name begins with, so that it reaches the inside as the rest of it."""
        return "APPTAINERENV_" if self.name == "apptainer" else "SINGULARITYENV_"

    @property
    def option_prefix(self) -> str:
        """What the name of a variable begins with that sets an option of the program itself."""
        return "APPTAINER_" if self.name == "apptainer" else "SINGULARITY_"

    def command(self, verb: str, *arguments: str) -> list[str]:
        """Command line of a verb that starts a container (`exec`, `run`, `test`)."""
        # Root has no need of host privileges here, and where root is one of a sandbox, asking for
        # them fails; other users get what the site's installation gives.
        userns = ["--userns"] if os.geteuid() == 0 else []
        return [self.program, verb, *userns, *arguments]

    def ask(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run something inside an image, and return what it said."""
        return subprocess.run(
            self.command("exec", *arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )


def find_engine() -> Engine:
    """The container program of this machine; MissingPart where there is none, or it fails."""
    found = shutil.which("apptainer") or shutil.which("singularity")
    if found is None:
        raise MissingPart(
            "images need Apptainer, which is not on PATH: load its module (often "
            "`module load apptainer`), install the package 'apptainer', or use --runtime native"
        )
    try:
        answer = subprocess.run(
            [found, "--version"],
            capture_output=True,
            text=True,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise MissingPart(f"{found} --version failed ({error}): install it again") from error
    told = _VERSION_ANSWER.search(answer.stdout)
    if told is None:
        # There is a game of that name.
        raise MissingPart(
            f"{found} is not Apptainer or SingularityCE (--version printed "
            f"{answer.stdout.strip()[:80]!r}): put Apptainer before it on PATH"
        )
    name: EngineName = "apptainer" if told[1].lower() == "apptainer" else "singularity-ce"
    return Engine(found, name, told[2])

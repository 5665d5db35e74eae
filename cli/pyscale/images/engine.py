"""Apptainer, which builds and runs images: where it is, and what it says of one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyscale.errors import UserError
from pyscale.processes import ran
from pyscale_stages.errors import MissingPart

IMAGE_PYTHON = "/opt/pyscale/venv/bin/python"
PROGRAM = "apptainer"
UNKNOWN = "unknown"
"""What a label says where a fact is not known."""
PREFIX = "org.pyscale."
"""What the names of pyscale's own labels begin with; `containers/stage.def` gives them."""
PATIENCE_S = 30.0
"""How long the container program may clean up after it was told to end."""
_VERSION_ANSWER = re.compile(rf"{PROGRAM} version (\d\S*)")


@dataclass(frozen=True)
class Engine:
    """An installed container program."""

    program: str
    """Its path."""
    version: str

    @property
    def named(self) -> str:
        """Name and version, as records have them."""
        return f"{PROGRAM} {self.version}"

    def command(self, verb: str, *arguments: str) -> list[str]:
        """Command line of a verb that starts a container (`exec`, `run`, `test`)."""
        # Root has no need of host privileges here, and where root is one of a sandbox, asking for
        # them fails; other users get what the site's installation gives.
        userns = ["--userns"] if os.geteuid() == 0 else []
        return [self.program, verb, *userns, *arguments]

    def ask(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run something inside an image, and return what it said."""
        return ran(self.command("exec", *arguments))

    def labels_of(self, sif: Path) -> dict[str, str]:
        """All labels of an image; UserError where the file is not one."""
        answer = ran([self.program, "inspect", "--json", "--labels", str(sif)])
        try:
            labels = json.loads(answer.stdout)["data"]["attributes"]["labels"]
        except (ValueError, KeyError, TypeError) as error:
            said = answer.stderr.strip().rpartition("\n")[2] or "no answer"
            raise UserError(f"{sif} is not a SIF image ({said}): build or pull it again") from error
        return dict(labels or {})


def find_engine() -> Engine:
    """The container program of this machine; MissingPart where there is none, or it fails."""
    found = shutil.which(PROGRAM)
    if found is None:
        raise MissingPart(
            "images need Apptainer, which is not on PATH: load its module (often "
            "`module load apptainer`), install the package 'apptainer', or use --runtime native"
        )
    answer = ran([found, "--version"])
    told = _VERSION_ANSWER.search(answer.stdout)
    if told is None:
        raise MissingPart(
            f"{found} is not Apptainer, or does not work (--version printed "
            f"{(answer.stdout or answer.stderr).strip()[:80]!r}): put Apptainer before it on PATH"
        )
    return Engine(found, told[1])


def run_aloud(command: Sequence[str], place: Path, environment: Mapping[str, str]) -> int:
    """Let the container program work in a folder, with its words on stderr; its exit code."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        cwd=place,
        env=dict(environment),
        # Modes of files in an image must not depend on the umask of whoever builds it.
        umask=0o022,
    ) as process:
        try:
            return process.wait()
        except BaseException:
            # It cleans up when it is told to end, as it does not when it is killed.
            process.terminate()
            process.wait(PATIENCE_S)
            raise


def commit_in(labels: Mapping[str, str]) -> str | None:
    """Commit of the stage code in an image, by its labels, where it is known."""
    commit = labels.get(f"{PREFIX}git_commit", UNKNOWN)
    return None if commit == UNKNOWN else commit

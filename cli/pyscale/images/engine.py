"""Apptainer, which builds and runs images: what it says of one, and what a build lacks here."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyscale.errors import UserError
from pyscale.processes import ran, user_name
from pyscale_stages.errors import MissingPart

IMAGE_PYTHON = "/opt/pyscale/venv/bin/python"
PROGRAM = "apptainer"
UNKNOWN = "unknown"
"""What a label says where a fact is not known."""
PREFIX = "org.pyscale."
"""What the names of pyscale's own labels begin with; `containers/stage.def` gives them."""
PATIENCE_S = 30.0
"""How long the container program may clean up after it was told to end."""
LOCKED_ARCHITECTURE = "x86_64"
"""Machine that the locks name wheels for."""
_PROGRAMS = {
    "squashfs-tools": ("mksquashfs", "unsquashfs"),
    "uidmap": ("newuidmap", "newgidmap"),
    "debootstrap": ("debootstrap",),
}
"""Programs that builds start, by the Debian package that has them."""
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


def lack_for_building(*, debootstrap: bool) -> str | None:
    """What stands in the way of a build here, first of all, and what to do; None where nothing.

    `debootstrap`: whether it would make a base.
    """
    programs = [name for name in _PROGRAMS if debootstrap or name != "debootstrap"]
    lacks = (
        _lack_of_architecture(),
        lack_of_user_namespaces(),
        lack_of_id_ranges(),
        *(_lack_of_programs(package, _PROGRAMS[package]) for package in programs),
    )
    return next(filter(None, lacks), None)


def lack_of_user_namespaces() -> str | None:
    """Whether this user may make a user namespace, in which a build is root: it is tried."""
    unshare = shutil.which("unshare")
    tried = None if unshare is None else ran([unshare, "--user", "true"])
    if tried is None or tried.returncode == 0:
        return None
    return (
        "this user cannot create user namespaces on this machine "
        f"({tried.stderr.strip() or 'the kernel refuses them'}), which images need without setuid: "
        "let an administrator run `sysctl -w user.max_user_namespaces=15000`, or build elsewhere "
        "and pull the images"
    )


def lack_of_id_ranges(etc: Path = Path("/etc")) -> str | None:
    """Whether this user has a range of ids to give to the users inside an image."""
    user = user_name(os.geteuid())
    owners = (f"{user}:", f"{os.geteuid()}:")
    for file in (etc / "subuid", etc / "subgid"):
        lines = file.read_text("utf-8").splitlines() if file.is_file() else []
        if not any(line.startswith(owners) for line in lines):
            return (
                f"{file} gives {user} no range of ids, which builds need: let an administrator run "
                "`usermod --add-subuids 200000-265535 --add-subgids 200000-265535 USER` (with "
                "numbers that are free)"
            )
    return None


def _lack_of_architecture() -> str | None:
    machine = platform.machine()
    if machine == LOCKED_ARCHITECTURE:
        return None
    return (
        f"this machine is {machine}, but the images' locks are for {LOCKED_ARCHITECTURE}: build on "
        f"a {LOCKED_ARCHITECTURE} machine, or use --runtime native here"
    )


def _lack_of_programs(package: str, names: tuple[str, ...]) -> str | None:
    # In Debian /usr/sbin is not on the PATH of users.
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"])
    absent = [name for name in names if shutil.which(name, path=path) is None]
    if not absent:
        return None
    return (
        f"not on PATH, but needed to build images: {' and '.join(absent)}: install the package "
        f"{package!r} (Debian's name)"
    )

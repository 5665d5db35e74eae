"""Apptainer, which builds and runs images, and what builds need beside.

Each function `lack_of_…` answers one question with a `Lack`, or None where all is well. Places to
look are arguments, so that other machines can be tried.
"""

from __future__ import annotations

import os
import platform
import pwd
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from pyscale.processes import ran
from pyscale_stages.contract import Record
from pyscale_stages.errors import MissingPart

IMAGE_PYTHON = "/opt/pyscale/venv/bin/python"
EXIT_CONTAINER = 255
"""Exit code of a container program that did not come as far as the task; no stage has it."""
PROGRAM = "apptainer"
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


def find_engine() -> Engine:
    """The container program of this machine; MissingPart where there is none, or it fails."""
    found = shutil.which(PROGRAM)
    if found is None:
        raise MissingPart(
            "images need Apptainer, which is not on PATH: load its module (often "
            "`module load apptainer`), install the package 'apptainer', or use --runtime native"
        )
    try:
        answer = ran([found, "--version"])
        answer.check_returncode()
    except (OSError, subprocess.CalledProcessError) as error:
        raise MissingPart(f"{found} --version failed ({error}): install it again") from error
    told = _VERSION_ANSWER.search(answer.stdout)
    if told is None:
        raise MissingPart(
            f"{found} is not Apptainer (--version printed {answer.stdout.strip()[:80]!r}): put "
            "Apptainer before it on PATH"
        )
    return Engine(found, told[1])


LOCKED_ARCHITECTURE = "x86_64"
"""Machine that the locks name wheels for."""

IDS_OF_A_SYSTEM = 65536
"""User ids that a Debian system may use: 0 to `nobody`, 65534, and one more."""

_STAFF = "ask the cluster's staff, or build elsewhere and copy or pull the images"


class Lack(Record):
    """One thing that is missing."""

    part: str = Field(description="Stable name of what was looked for")
    sentence: str = Field(description="What is wrong, and where")
    remedy: str = Field(description="What to do")

    def __str__(self) -> str:
        return f"{self.sentence}: {self.remedy}"


def lacks_for_building(folder: Path, needed_bytes: int, *, debootstrap: bool) -> list[Lack]:
    """All that stands in the way of a build, beside the container program itself.

    The build takes `needed_bytes` at most in the folder of the images; `debootstrap`: makes a base.
    """
    answers: Iterable[Lack | None] = (
        lack_of_architecture(),
        lack_of_user_namespaces(),
        lack_of_id_ranges(),
        lack_of_programs(("mksquashfs", "unsquashfs"), "squashfs-tools"),
        lack_of_programs(("newuidmap", "newgidmap"), "uidmap"),
        lack_of_programs(("debootstrap",), "debootstrap") if debootstrap else None,
        lack_of_space(folder, needed_bytes),
    )
    return [answer for answer in answers if answer is not None]


def lack_of_architecture(machine: str | None = None) -> Lack | None:
    """Whether the locks name wheels for this kind of machine."""
    machine = machine or platform.machine()
    if machine == LOCKED_ARCHITECTURE:
        return None
    return Lack(
        part="architecture",
        sentence=f"this machine is {machine}, but the images' locks are for {LOCKED_ARCHITECTURE}",
        remedy=f"build on a {LOCKED_ARCHITECTURE} machine, or use --runtime native here",
    )


def lack_of_user_namespaces(
    kernel: Path = Path("/proc/sys"), *, is_root: bool | None = None
) -> Lack | None:
    """Whether this user may make a user namespace, in which a build is root."""
    root = os.geteuid() == 0 if is_root is None else is_root
    if _number(kernel / "user" / "max_user_namespaces") == 0:
        return _no_namespaces(
            "/proc/sys/user/max_user_namespaces is 0", "user.max_user_namespaces=15000"
        )
    if not root and _number(kernel / "kernel" / "unprivileged_userns_clone") == 0:
        return _no_namespaces(
            "/proc/sys/kernel/unprivileged_userns_clone is 0", "kernel.unprivileged_userns_clone=1"
        )
    if _number(kernel / "kernel" / "apparmor_restrict_unprivileged_userns") == 1:
        # AppArmor may still allow it to the container program by name: only its own try tells.
        return None
    unshare = shutil.which("unshare")
    if unshare is None:
        return None
    tried = ran([unshare, "--user", "true"])
    if tried.returncode == 0:
        return None
    return _no_namespaces(tried.stderr.strip() or "the kernel refuses them", None)


def lack_of_id_ranges(user: str | None = None, etc: Path = Path("/etc")) -> Lack | None:
    """Whether this user has a range of ids to give to the users inside an image."""
    try:
        name, number = (user, None) if user else (pwd.getpwuid(os.geteuid()).pw_name, os.geteuid())
    except KeyError:
        name, number = str(os.geteuid()), os.geteuid()
    for file in (etc / "subuid", etc / "subgid"):
        if _largest_range(file, {name, str(number)}) < IDS_OF_A_SYSTEM:
            return Lack(
                part="id ranges",
                sentence=f"{file} gives the user {name} no range of {IDS_OF_A_SYSTEM} ids, which "
                "builds need",
                remedy="let an administrator run `usermod --add-subuids 200000-265535 "
                f"--add-subgids 200000-265535 {name}` (with numbers that are free)",
            )
    return None


def lack_of_programs(
    names: Iterable[str], package: str, find: Callable[[str], str | None] = shutil.which
) -> Lack | None:
    """Whether programs are on PATH, which one package brings."""
    # In Debian /usr/sbin is not on the PATH of users.
    absent = [name for name in names if find(name) is None and find(f"/usr/sbin/{name}") is None]
    if not absent:
        return None
    return Lack(
        part=package,
        sentence=f"not on PATH, but needed to build images: {' and '.join(absent)}",
        remedy=f"install the package {package!r} (Debian's name)",
    )


def lack_of_space(folder: Path, needed_bytes: int) -> Lack | None:
    """Whether the disk of a folder, which need not exist yet, has room."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free >= needed_bytes:
        return None
    return Lack(
        part="space",
        sentence=f"the disk of {folder} has {free / 2**30:.1f} GiB left, but a build takes up "
        f"to {needed_bytes / 2**30:.1f} GiB",
        remedy="free space, or name another folder by the setting images_folder",
    )


def _no_namespaces(why: str, setting: str | None) -> Lack:
    how = f"let an administrator run `sysctl -w {setting}`" if setting else _STAFF
    return Lack(
        part="user namespaces",
        sentence=f"this user cannot create user namespaces on this machine ({why}), which builds "
        "without privileges need",
        remedy=how,
    )


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _largest_range(file: Path, owners: set[str]) -> int:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    counts = [0]
    for line in lines:
        owner, _, rest = line.partition(":")
        count = rest.partition(":")[2].strip()
        if owner.strip() in owners and count.isdigit():
            counts.append(int(count))
    return max(counts)

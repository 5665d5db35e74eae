"""What a machine lacks to build images: a sentence each, which ends in what to do."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

from pyscale.processes import ran, user_name

LOCKED_ARCHITECTURE = "x86_64"
"""Machine that the locks name wheels for."""
_PROGRAMS = {
    "squashfs-tools": ("mksquashfs", "unsquashfs"),
    "uidmap": ("newuidmap", "newgidmap"),
    "debootstrap": ("debootstrap",),
}
"""Programs that builds start, by the Debian package that has them."""


def lacks_for_building(*, debootstrap: bool) -> dict[str, str]:
    """What stands in the way of a build here beside the container program, by a stable name.

    `debootstrap`: whether it would make a base.
    """
    lacks = {
        "architecture": _lack_of_architecture(),
        "user_namespaces": lack_of_user_namespaces(),
        "id_ranges": lack_of_id_ranges(),
    }
    for package, names in _PROGRAMS.items():
        if debootstrap or package != "debootstrap":
            lacks[package] = _lack_of_programs(package, names)
    return {part: lack for part, lack in lacks.items() if lack is not None}


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

"""What the first layer of images is made from: a mirror of Debian, or an image of a registry."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass

from pyscale.errors import UserError
from pyscale.images.content import base_sha256
from pyscale.processes import ran
from pyscale.settings import without_login

REGISTRY = "docker://"
_PINNED = re.compile(rf"{REGISTRY}.+@sha256:[0-9a-f]{{64}}")
_WAYS = (
    "name a mirror of Debian by --base, or an image of a registry with its digest by --base "
    "docker://NAME@sha256:DIGEST"
)


@dataclass(frozen=True)
class Base:
    """What the first layer is made from."""

    sha256: str
    """Hash of that, by which the layers on it are told apart."""
    origin: str | None
    """Address of an image of a registry, or of a mirror; None is the mirror of this machine."""
    is_image: bool = False
    """Whether it is an image of a registry, so that debootstrap is not needed."""

    def variables(self) -> dict[str, str]:
        """Values for the variables of its definition."""
        if self.origin is not None and self.is_image:
            return {"from": self.origin.removeprefix(REGISTRY)}
        mirror = self.origin or machine_mirror()
        if without_login(mirror) != mirror:
            raise UserError(
                f"the address of the mirror {without_login(mirror)} holds a login, which would "
                "stay in the image and in the log of its build: name a mirror that needs none by "
                "--base"
            )
        return {"mirror": mirror}


def choose_base(base: str | None) -> Base:
    """Understand the option `--base`."""
    if base is None or not base.startswith(REGISTRY):
        return Base(base_sha256(), base)
    if not _PINNED.fullmatch(base):
        raise UserError(
            f"--base {base} has no digest, so its content may change: write it as "
            "docker://NAME@sha256:DIGEST"
        )
    return Base(base_sha256(base), base, is_image=True)


def machine_mirror() -> str:
    """The mirror of Debian that this machine's own apt uses."""
    # The security archive has another label: it holds no whole system.
    ask = ["apt-get", "indextargets", "--format", "$(REPO_URI)"]
    try:
        answer = ran([*ask, "Label: Debian", "Created-By: Packages"])
        answer.check_returncode()
        return answer.stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError) as error:
        raise UserError(
            f"apt on this machine is missing or has no mirror of Debian: {_WAYS}"
        ) from error

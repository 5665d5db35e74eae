"""The Debian system that images stand on: made by debootstrap, taken from a registry, or given."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pyscale.errors import UserError
from pyscale.images.content import (
    base_file,
    base_from_registry_file,
    base_sha256,
    hash_of_words,
)
from pyscale_stages.hashing import sha256_of

_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")
_WAYS = (
    "name a mirror of Debian by --mirror, an image of a registry with its digest by --base "
    "docker://NAME@sha256:DIGEST, or the SIF of a base that was built elsewhere by --base"
)


@dataclass(frozen=True)
class Base:
    """What the first layer is made from.

    `sha256`: hash of that, by which the layers on it are told apart. `file`: definition to build,
    or the base itself where it is given. `origin`: whether debootstrap makes it, a registry has it,
    or it is given. `reference`: image of a registry, with its digest. `mirror`: mirror of Debian
    that the user named.
    """

    sha256: str
    file: Path
    origin: Literal["debootstrap", "registry", "given"] = "debootstrap"
    reference: str = ""
    mirror: str | None = None

    def variables(self) -> dict[str, str]:
        """Values for the variables of the definition."""
        if self.origin == "registry":
            return {"from": self.reference.removeprefix("docker://")}
        return {"mirror": self.mirror or machine_mirror()}


def choose_base(base: str | None, mirror: str | None) -> Base:
    """Understand the options `--base` and `--mirror`."""
    if base is None:
        return Base(base_sha256(), base_file(), mirror=mirror)
    if base.startswith("docker://"):
        if not _DIGEST.search(base):
            raise UserError(
                f"--base {base} has no digest, so its content may change: write it as "
                "docker://NAME@sha256:DIGEST"
            )
        file = base_from_registry_file()
        return Base(hash_of_words((base_sha256(file), base)), file, "registry", base)
    sif = Path(base).expanduser()
    if not sif.is_file():
        raise UserError(f"--base {base} is neither a SIF file nor docker://NAME@sha256:DIGEST")
    return Base(sha256_of(sif), sif.resolve(), "given")


def machine_mirror() -> str:
    """The mirror of Debian that this machine's own apt uses."""
    # The security archive has another label: it holds no whole system.
    ask = ["apt-get", "indextargets", "--format", "$(REPO_URI)"]
    try:
        answer = subprocess.run(
            [*ask, "Label: Debian", "Created-By: Packages"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise UserError(
            f"apt on this machine is missing or has no mirror of Debian: {_WAYS}"
        ) from (error)
    mirrors = answer.stdout.split()
    if not mirrors:
        raise UserError(f"apt on this machine has no mirror of Debian: {_WAYS}")
    return mirrors[0]

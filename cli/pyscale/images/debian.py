"""Fetches the Debian packages of an image, so that its build needs no network."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from pyscale.errors import UserError
from pyscale.images.catalog import ImageDefinition
from pyscale.images.engine import Engine
from pyscale_stages.hashing import sha256_of

RECORD_NAME = "fetched.txt"
"""Says beside the packages what they were fetched for, and the hash of each."""

_FETCH = """
set -eu
apt='apt-get -qq -o Dir::State::Lists=/fetched/lists -o Dir::Cache=/fetched/cache
    -o APT::Sandbox::User=root -o Debug::NoLocking=1'
mkdir -p /fetched/lists/partial /fetched/cache/archives/partial
$apt update
$apt install --download-only --yes --no-install-recommends "$@"
"""


def fetch_debian(
    definition: ImageDefinition,
    base: Path,
    engine: Engine,
    folder: Path,
    listener: Callable[[str], None],
) -> None:
    """Bring an image's Debian packages, and what they need, into `folder/NAME/debian`.

    The base's own apt chooses and checks them, so that they fit what it has already. Packages
    that were fetched for the same base are kept and need no network.
    """
    packages = folder / definition.name / "debian"
    heading = f"{_base_packages_sha256(base, engine)} {' '.join(definition.debian)}"
    if is_complete(packages, heading):
        return
    listener(f"fetching Debian packages: {', '.join(definition.debian)}")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{definition.name}-", dir=folder) as scratch:
        inside = ["--containall", "--cleanenv", "--no-home", "--bind", f"{scratch}:/fetched"]
        shell = ["sh", "-c", _FETCH, "sh", *definition.debian]
        answer = subprocess.run(
            engine.command("exec", *inside, str(base), *shell),
            capture_output=True,
            text=True,
            check=False,
        )
        if answer.returncode != 0:
            lines = [line for line in answer.stderr.splitlines() if line.startswith(("E:", "W:"))]
            reason = lines[0] if lines else answer.stderr.strip()[-300:]
            raise UserError(
                f"the Debian packages of {definition.name} cannot be fetched ({reason}): connect "
                "to the network, or name a folder that was filled on the same base by --wheels"
            )
        fetched = Path(scratch) / "debian"
        fetched.mkdir()
        for package in sorted(Path(scratch).glob("cache/archives/*.deb")):
            package.rename(fetched / package.name)
        (fetched / RECORD_NAME).write_text(_record(fetched, heading), encoding="utf-8")
        shutil.rmtree(packages, ignore_errors=True)
        packages.parent.mkdir(exist_ok=True)
        fetched.rename(packages)


def is_complete(packages: Path, heading: str) -> bool:
    """Whether a folder holds what was fetched under this heading, unchanged."""
    record = packages / RECORD_NAME
    return record.is_file() and record.read_text("utf-8") == _record(packages, heading)


def _record(packages: Path, heading: str) -> str:
    files = sorted(packages.glob("*.deb"))
    return "".join([f"{heading}\n", *(f"{sha256_of(file)} {file.name}\n" for file in files)])


def _base_packages_sha256(base: Path, engine: Engine) -> str:
    answer = subprocess.run(
        engine.command("exec", "--containall", str(base), "dpkg-query", "--show"),
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        raise UserError(
            f"{base} is not a Debian system that images can use "
            f"({answer.stderr.strip()[-200:]}): name a base that pyscale built, or none"
        )
    return hashlib.sha256(answer.stdout.encode()).hexdigest()

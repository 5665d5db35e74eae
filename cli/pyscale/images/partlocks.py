"""Locks of an image's parts: wheels in `containers/locks/`, Debian packages, checksums of jars.

A mirror of Debian has the versions of its day alone, so their lock says what an image was built
with, and a build tells where it differs. Wheels and jars that differ from theirs are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pyscale.errors import UserError
from pyscale.images.catalog import ImageDefinition
from pyscale.images.engine import EXIT_CONTAINER, Engine
from pyscale.images.lockfile import ImageFolder
from pyscale.resources import shipped
from pyscale_stages.binds import ISOLATED
from pyscale_stages.contract import Record
from pyscale_stages.hashing import sha256_of

PYTHON_VERSION = "3.11.2"
"""Python of the images: that of Debian 12."""

_PIN = re.compile(
    r"(?P<name>[\w.-]+)===?(?P<version>[\w.+!-]+) --hash=sha256:(?P<sha256>[0-9a-f]+)"
)
_SEPARATORS = re.compile(r"[-_.]+")


class WheelPin(Record):
    """One package of a lock."""

    name: str = Field(description="As the package writes it")
    version: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = Field(description="Of its wheel")

    @property
    def key(self) -> str:
        """Name that is the same however a package is written."""
        return package_key(self.name)

    @property
    def requirement(self) -> str:
        """The line of a lock, which pip reads."""
        # Builds of torch for other devices are versions that two signs take for the same.
        sign = "===" if self.key == "torch" else "=="
        return f"{self.name}{sign}{self.version} --hash=sha256:{self.sha256}"


def package_key(name: str) -> str:
    """Name of a package that is the same however it is written."""
    return _SEPARATORS.sub("-", name).lower()


def platform_options() -> list[str]:
    """Options by which pip chooses wheels for the images, on whatever machine it runs."""
    # Debian 12 has glibc 2.36, and the oldest wheels are for 2.5.
    glibc_2 = (f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1))
    older_names = ("manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64")
    options = ["--only-binary", ":all:", "--python-version", PYTHON_VERSION]
    for platform in (*glibc_2, *older_names):
        options += ["--platform", platform]
    return options


def read_pins(definition: ImageDefinition) -> list[WheelPin]:
    """Read the lock of an image."""
    file = definition.lock_file
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UserError(
            f"the image {definition.name} has no lock ({file}): run `make locks` in a checkout, "
            "or install pyscale again"
        ) from error
    pins = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        pin = _PIN.fullmatch(line)
        if pin is None or len(pin["sha256"]) != 64:
            raise UserError(
                f"{file}, line {number}, is not NAME==VERSION --hash=sha256:HASH: "
                "run `make locks` in a checkout, or install pyscale again"
            )
        pins.append(WheelPin(**pin.groupdict()))
    return pins


def lock_text(definition: ImageDefinition, pins: Iterable[WheelPin]) -> str:
    """Write the lock of an image: sorted, one wheel a line."""
    lines = [
        f"# Python {PYTHON_VERSION} packages of the image {definition.name} on x86_64 Linux.",
        f"# Made by `make locks` from requirements/{definition.definition}.in; do not edit.",
        *(pin.requirement for pin in sorted(pins, key=lambda pin: pin.key)),
    ]
    return "\n".join(lines) + "\n"


BASE = "base"
"""Name of the lock of what every image has from Debian."""
JARS_RECORD = "sha256.txt"
"""Checksums of jars beside them, as they were fetched."""
_SHOWN = 3
_LIST = "/opt/pyscale/debian-packages.txt"


def debian_packages(sif: Path, engine: Engine) -> dict[str, str]:
    """Versions of the Debian packages that an image or layer lists; empty where it lists none."""
    done = engine.ask(*ISOLATED, str(sif), "cat", _LIST)
    if done.returncode == EXIT_CONTAINER:
        raise UserError(
            f"{sif} does not start here ({done.stderr.strip().rpartition(chr(10))[2]}): "
            "see `pyscale doctor`"
        )
    lines = done.stdout.splitlines() if done.returncode == 0 else ()
    return {name: version for name, version, *_ in (line.split("\t") for line in lines)}


def debian_lock_file(name: str) -> Path:
    """Lock of the Debian packages of the base, or of those that an image adds to it."""
    return shipped("containers") / "debian" / f"{name}.txt"


def debian_text(packages: Mapping[str, str]) -> str:
    """Write packages as apt names them, a line each."""
    return "".join(f"{name}={version}\n" for name, version in sorted(packages.items()))


def read_debian(file: Path) -> dict[str, str]:
    """Read such lines; an absent file has none."""
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return dict(line.split("=", 1) for line in text.splitlines())


def check_jars(definition: ImageDefinition, jars: Path) -> None:
    """Compare the jars of an image with their lock, or else with what was fetched."""
    file = next((f for f in (definition.jars_lock_file, jars / JARS_RECORD) if f.is_file()), None)
    if file is None:
        return
    lines = file.read_text(encoding="utf-8").splitlines()
    expected = {name: sha256 for sha256, name in (line.split("  ", 1) for line in lines)}
    found = _checksums(jars)
    wrong = sorted(name for name, _ in expected.items() ^ found.items())
    if wrong:
        raise UserError(
            f"jars in {jars} differ from {file} ({_some(wrong)}): remove the "
            "folder to fetch them again, or put the right ones there"
        )


def jars_text(jars: Path) -> str:
    """Checksums of all jars in a folder and below, as sha256sum writes them."""
    return "".join(f"{sha256}  {name}\n" for name, sha256 in _checksums(jars).items())


def doubts(folder: ImageFolder, definitions: Iterable[ImageDefinition]) -> list[str]:
    """Say where images that were built here differ from their locks, or have none."""
    differing: list[str] = []
    sentences = []
    base = read_debian(debian_lock_file(BASE))
    for definition in definitions:
        found = read_debian(folder.debian_list(definition.name))
        locked = base | read_debian(debian_lock_file(definition.name))
        if found and base:
            differing += [
                f"{name} {found.get(name, 'absent')} instead of {locked.get(name, 'none')}"
                for name in sorted(found.keys() | locked.keys())
                if found.get(name) != locked.get(name)
            ]
        if definition.maven and not definition.jars_lock_file.is_file():
            sentences.append(
                f"no locked checksums for the jars of {definition.name}, so they are used as "
                f"fetched from Maven: compare {JARS_RECORD} beside them with that of another "
                "build"
            )
    if differing:
        one = len(set(differing)) == 1
        told = (
            f"{len(set(differing))} Debian package{' differs' if one else 's differ'} from the "
            f"locked version ({_some(differing)}): builds on different days differ, so pull one "
            "image to all machines that you compare"
        )
        return [told, *sentences]
    return sentences


def _checksums(jars: Path) -> dict[str, str]:
    return {
        path.relative_to(jars).as_posix(): sha256_of(path) for path in sorted(jars.rglob("*.jar"))
    }


def _some(names: Iterable[str]) -> str:
    shown = list(dict.fromkeys(names))
    return ", ".join([*shown[:_SHOWN], *(["…"] if len(shown) > _SHOWN else [])])

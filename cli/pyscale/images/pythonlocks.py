"""The locks in `containers/locks/`: every Python package of an image, with its one wheel's hash."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from pyscale.errors import UserError
from pyscale.images.catalog import ImageDefinition
from pyscale_stages.contract import Record

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

"""What a build lays into an image beside code: wheels and jars, fetched first."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.images.catalog import ImageDefinition
from pyscale.processes import ran
from pyscale_stages.errors import MissingPart
from pyscale_stages.libraries import how_to_install

PYTHON_VERSION = "3.11.2"
"""Python of the images: that of Debian 12."""


def platform_options() -> list[str]:
    """Options by which pip chooses wheels for the images, on whatever machine it runs."""
    # Debian 12 has glibc 2.36, and the oldest wheels are for 2.5.
    glibc_2 = (f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1))
    older_names = ("manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64")
    options = ["--only-binary", ":all:", "--python-version", PYTHON_VERSION]
    for platform in (*glibc_2, *older_names):
        options += ["--platform", platform]
    return options


def fetch_wheels(definition: ImageDefinition, wheels: Path) -> None:
    """Let pip bring the wheels of an image's lock, with the settings that it has on this machine.

    What lies there with the right hash is kept, and a complete folder needs no network.
    """
    lock = definition.lock_file
    wheels.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps"]
    command += [*platform_options(), "--require-hashes", "--no-input", "--requirement", str(lock)]
    command += ["--dest", str(wheels), "--find-links", str(wheels)]
    if ran([*command, "--no-index"]).returncode == 0:
        return
    talk(f"fetching the wheels of {definition.name}")
    if subprocess.run(command, stdout=sys.stderr, check=False).returncode != 0:
        raise UserError(
            f"the wheels of {definition.name} cannot be fetched as {lock} names them (pip says why "
            "above): connect to the network, or set PIP_INDEX_URL or PIP_FIND_LINKS to where they "
            "are"
        )


def fetch_jars(definition: ImageDefinition, jars: Path) -> None:
    """Bring the jars of an image's Maven coordinates, and all they need, into a new folder."""
    maven = definition.image.maven
    try:
        import jgo
    except ModuleNotFoundError as error:
        raise MissingPart(
            f"fetching the jars of {definition.name} needs jgo, which is not installed here: "
            f"{how_to_install('track_trackmate')}"
        ) from error
    talk(f"asking Maven for {', '.join(maven)}")
    jars.mkdir()
    with TemporaryDirectory(dir=jars.parent) as cache:
        try:
            for jar in jgo.build("+".join(maven), cache_dir=Path(cache)).classpath:
                shutil.copyfile(jar, jars / Path(jar).name)
        # The resolver has errors of several libraries, and no common one.
        except Exception as error:
            raise UserError(
                f"the jars of {definition.name} ({', '.join(maven)}) could not be fetched from "
                f"Maven ({type(error).__name__}): connect to the network, or build elsewhere and "
                "pull the image"
            ) from error

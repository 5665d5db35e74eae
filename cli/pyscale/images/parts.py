"""What a build lays into an image beside code: wheels and jars, fetched first."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.images.catalog import ImageDefinition, catalog
from pyscale.images.listing import is_current
from pyscale.images.lockfile import ImageFolder
from pyscale.processes import ran
from pyscale_stages.errors import MissingPart
from pyscale_stages.hashing import sha256_of
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
    if not lock.is_file():
        raise UserError(
            f"the image {definition.name} has no lock ({lock}): run `make locks` in a checkout, "
            "or install pyscale again"
        )
    if find_spec("pip") is None:
        raise MissingPart(
            f"fetching wheels needs pip, which {sys.executable} lacks: run `{sys.executable} -m "
            "ensurepip`"
        )
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
            "above): connect to the network, set PIP_INDEX_URL or PIP_FIND_LINKS to where they "
            "are, or name a folder that was filled elsewhere by --wheels"
        )


JARS_RECORD = "sha256.txt"
"""Checksums of jars beside them, as they were fetched."""


def fetch_jars(definition: ImageDefinition, folder: Path) -> None:
    """Bring the jars of an image's Maven coordinates, and all they need, into `folder/NAME/jars`.

    A folder that was put there by hand is taken as it is, where its checksums are as locked.
    """
    jars = folder / definition.name / "jars"
    if not jars.is_dir():
        talk(f"asking Maven for {', '.join(definition.image.maven)}")
        jars.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".jars-", dir=jars.parent) as scratch:
            fetched = Path(scratch) / "jars"
            fetched.mkdir()
            _resolve(definition, jars, Path(scratch), fetched)
            (fetched / JARS_RECORD).write_text(jars_text(fetched), encoding="utf-8")
            fetched.rename(jars)
    lock = definition.jars_lock_file
    expected = lock if lock.is_file() else jars / JARS_RECORD
    if expected.is_file() and expected.read_text(encoding="utf-8") != jars_text(jars):
        raise UserError(
            f"jars in {jars} differ from {expected}: remove the folder to fetch them again, or put "
            "the right ones there"
        )
    if not lock.is_file():
        talk(f"warning: no locked checksums for the jars of {definition.name}: see {JARS_RECORD}")


def jars_text(jars: Path) -> str:
    """Checksums of all jars in a folder and below, as sha256sum writes them."""
    paths: Iterable[Path] = sorted(jars.rglob("*.jar"))
    return "".join(f"{sha256_of(path)}  {path.relative_to(jars).as_posix()}\n" for path in paths)


def _resolve(definition: ImageDefinition, jars: Path, scratch: Path, fetched: Path) -> None:
    maven = definition.image.maven
    try:
        import jgo
    except ModuleNotFoundError as error:
        raise MissingPart(
            f"fetching the jars of {definition.name} needs jgo, which is not installed here: "
            f"{how_to_install('track_trackmate')}, or put the jars into {jars}"
        ) from error
    try:
        environment = jgo.build("+".join(maven), cache_dir=scratch / "cache")
        for jar in environment.classpath:
            shutil.copyfile(jar, fetched / Path(jar).name)
    # The resolver has errors of several libraries, and no common one.
    except Exception as error:
        raise UserError(
            f"the jars of {definition.name} ({', '.join(maven)}) could not be fetched from Maven "
            f"({type(error).__name__}): connect to the network, or put them with their "
            f"dependencies into {jars}"
        ) from error


def buildable(
    folder: ImageFolder, wheels: Path | None, *, force: bool
) -> tuple[list[ImageDefinition], dict[str, str]]:
    """Images for CPUs whose parts are within reach, and a sentence for each that is left out.

    Few clusters reach a Maven repository, while every build needs a package index: only what
    lacks the first is left out, and what lacks the second fails.
    """
    chosen, left_out = [], {}
    for definition in catalog().values():
        why = None
        if definition.device != "cpu":
            why = f"it is for {definition.device}: name it to build it"
        elif definition.image.maven and (force or not is_current(folder, definition)):
            try:
                fetch_jars(definition, wheels or folder.path / "parts")
            except (UserError, MissingPart) as error:
                why = str(error)
        if why is None:
            chosen.append(definition)
        else:
            left_out[definition.name] = why
    return chosen, left_out

"""Building images: base, libraries and stage code, each a SIF on the one before; and pulling them.

The first two are named by the hash of what they are made from, so one that is there is right. The
container program builds them, and says on the terminal what a machine lacks for that.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from pyscale import DISTRIBUTION
from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.images.catalog import (
    ImageDefinition,
    base_sha256,
    base_variables,
    catalog,
    code_files,
    content_sha256,
    definition_file,
    file_sha256,
    lay_out,
    libraries_sha256,
)
from pyscale.images.engine import PREFIX, UNKNOWN, Engine, find_engine, run_aloud
from pyscale.images.lockfile import ImageFolder, look, remove
from pyscale.processes import ran
from pyscale.resources import shipped
from pyscale.settings import without_login
from pyscale.store.provenance import code_commit
from pyscale_stages.errors import MissingPart
from pyscale_stages.libraries import how_to_install

LOCKED_ARCHITECTURE = "x86_64"
"""Machine that the locks name wheels for."""
PYTHON_VERSION = "3.11.2"
"""Python of the images: that of Debian 12."""
HASH_LETTERS = 12
GZIP, ZSTD = (f"-comp {name} -Xcompression-level 1" for name in ("gzip", "zstd"))
"""Why these: `docs/decisions/`, the record on layers of images."""


def build(
    definitions: Sequence[ImageDefinition],
    folder: ImageFolder,
    *,
    base: str | None = None,
    force: bool = False,
) -> list[str]:
    """Build those images that are not current, and lock them; their names.

    `base`: mirror of Debian, or docker://NAME@sha256:DIGEST; None is the mirror of this machine.
    `force`: build also what is current, with all its layers.
    """

    def stale() -> list[ImageDefinition]:
        return [d for d in definitions if force or look(folder, d.name).state != "current"]

    built: list[str] = []
    if not stale():
        return []
    engine = find_engine()
    if (machine := platform.machine()) != LOCKED_ARCHITECTURE:
        raise MissingPart(
            f"this machine is {machine}, but the images' locks are for {LOCKED_ARCHITECTURE}: "
            f"build on a {LOCKED_ARCHITECTURE} machine, or use --runtime native here"
        )
    with folder.place() as place:
        builder = _Builder(engine, folder, place, base, force=force)
        # Another build may have made them while this one waited.
        for definition in stale():
            builder.make(definition)
            built.append(definition.name)
    return built


def _layer(folder: ImageFolder, name: str, sha256: str) -> Path:
    return folder.path / "layers" / f"{name}-{sha256[:HASH_LETTERS]}.sif"


class _Builder:
    """Builds images, one after the other, in a place of its own."""

    def __init__(
        self, engine: Engine, folder: ImageFolder, place: Path, base: str | None, *, force: bool
    ) -> None:
        self._engine, self._folder, self._place, self._base = engine, folder, place, base
        self._force = self._base_anew = force
        self._wheels = folder.path / "parts" / "wheels"

    def make(self, definition: ImageDefinition) -> None:
        """Build an image with the layers that it lacks, and lock it."""
        libraries = self._libraries(definition)
        labels = {
            "image": definition.name,
            "stage": definition.stage,
            "version": version(DISTRIBUTION),
            "git_commit": code_commit() or UNKNOWN,
            "lock_sha256": file_sha256(definition.lock_file),
            "content_sha256": content_sha256(definition),
        }
        self._clear()
        lay_out(code_files(definition.stage), self._place / "code")
        (self._place / "code" / "after_code.sh").write_text(definition.image.after_code, "utf-8")
        made = self._run(f"{definition.name}: stage code", "stage", labels, libraries=libraries)
        self._folder.install(made, definition.name, self._engine.labels_of(made))

    def _libraries(self, definition: ImageDefinition) -> Path:
        """Layer with an image's libraries, on the base."""
        name = f"{definition.name}-libraries"
        sha256 = libraries_sha256(definition, base_sha256(self._base))
        layer = _layer(self._folder, name, sha256)
        if layer.is_file() and not self._force:
            return layer
        # First, as it shows in a moment whether this machine can build at all.
        base = self._base_layer()
        fetch_wheels(definition, self._wheels)
        self._clear()
        recipe, declared = self._place / "recipe", definition.image
        recipe.mkdir()
        shutil.copyfile(definition.lock_file, recipe / "lock.txt")
        (recipe / "debian.txt").write_text(" ".join(declared.debian), "utf-8")
        (recipe / "imports.py").write_text(f"import {', '.join(definition.imports)}\n", "utf-8")
        (recipe / "after_install.sh").write_text(declared.after_install, "utf-8")
        if declared.maven:
            fetch_jars(definition, recipe / "jars")
        made = self._run(f"{definition.name}: libraries", "libraries", {}, base=base)
        return _kept(made, layer, f"{name}-*.sif")

    def _base_layer(self) -> Path:
        layer = _layer(self._folder, "base", base_sha256(self._base))
        if layer.is_file() and not self._base_anew:
            return layer
        self._clear()
        variables = base_variables(self._base)
        definition = "base_docker" if "from" in variables else "base"
        made = self._run("Debian base", definition, variables)
        # Once in a call, whatever stands on it.
        self._base_anew = False
        return _kept(made, layer, "base-*.sif")

    def _clear(self) -> None:
        """Empty the place of what the last layer left."""
        remove(self._place)
        self._place.mkdir()

    def _run(self, what: str, name: str, given: Mapping[str, str], **sifs: Path) -> Path:
        """Let the container program build a definition, in the place and beside its parts."""
        talk(f"== {what}")
        start_s = time.monotonic()
        # Named by links beside each other, so that no path of this machine gets into the image.
        variables = dict(given)
        for variable, sif in sifs.items():
            (self._place / f"{variable}.sif").symlink_to(sif.absolute())
            variables[variable] = f"{variable}.sif"
        scripts = shipped("containers") / "scripts"
        if scripts.is_dir():
            shutil.copytree(scripts, self._place / "scripts")
        command = [self._engine.program, "build", "--fakeroot"]
        # The program shows the machine's own folders for temporary files to the definition's steps.
        for inside in ("tmp", "var/tmp"):
            own = self._place / "inside" / inside
            own.mkdir(parents=True)
            own.chmod(0o1777)
            command += ["--bind", f"{own}:/{inside}"]
        if name == "libraries":
            command += ["--bind", f"{self._wheels.absolute()}:/mnt:ro"]
        for variable, value in sorted(variables.items()):
            command += ["--build-arg", f"{variable}={value}"]
        command += ["made.sif", str(definition_file(name))]
        # No image is run from libraries, and the build of the code reads them again.
        squash = ZSTD if name == "libraries" else GZIP
        if run_aloud(command, self._place, self._environment(squash)) != 0:
            raise UserError(f"building {what} failed: Apptainer says why above")
        talk(f"== {what}: done in {time.monotonic() - start_s:.0f} s")
        return self._place / "made.sif"

    def _environment(self, squash: str) -> dict[str, str]:
        """The user's environment without what would change the image's content."""
        binds = {"APPTAINER_BIND", "APPTAINER_BINDPATH"}
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("APPTAINERENV_") and name not in binds
        }
        kept["APPTAINER_MKSQUASHFS_ARGS"] = squash
        kept["APPTAINER_CACHEDIR"] = str(self._place / "cache")
        # A shared filesystem often refuses the ids of a build, so a user may name a local disk.
        kept.setdefault("APPTAINER_TMPDIR", str(self._place))
        if os.geteuid() == 0:
            # As for commands in images: root has no need of host privileges, and may lack them.
            kept["APPTAINER_USERNS"] = "1"
        return kept


def _kept(made: Path, layer: Path, others: str) -> Path:
    """Give a layer its name, in the place of the one before."""
    layer.parent.mkdir(exist_ok=True)
    for older in layer.parent.glob(others):
        older.unlink()
    return made.replace(layer)


def platform_options() -> list[str]:
    """Options by which pip chooses wheels for the images, on whatever machine it runs."""
    # Debian 12 has glibc 2.36, and the oldest wheels are for 2.5.
    glibc_2 = (f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1))
    older_names = ("manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64")
    options = ["--only-binary", ":all:", "--python-version", PYTHON_VERSION]
    for name in (*glibc_2, *older_names):
        options += ["--platform", name]
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


def pull(folder: ImageFolder, source: str, engine: Engine) -> str:
    """Fetch an image from a registry, check it, and lock it under the name that it has; the name.

    An image of that name makes way, as for one that is built.
    """
    told = without_login(source)
    if not source.startswith("oras://"):
        raise UserError(f"{told!r} is not a registry address: write oras://HOST/PATH:TAG")
    with folder.place() as place:
        sif = _fetch(source, place, engine)
        labels = engine.labels_of(sif)
        name = labels.get(f"{PREFIX}image")
        if name not in catalog():
            raise UserError(f"{told} is not an image of this pyscale: nothing was installed")
        folder.install(sif, name, labels, told)
    return name


def _fetch(source: str, place: Path, engine: Engine) -> Path:
    """Let the container program fetch a SIF; it tells how far it is on the terminal."""
    sif = place / "image.sif"
    command = [engine.program, "pull", "--disable-cache", str(sif), source]
    if run_aloud(command, place, os.environ | {"APPTAINER_TMPDIR": str(place)}) != 0:
        raise UserError(
            f"{without_login(source)} cannot be pulled (Apptainer says why above): "
            "mend that, or copy its SIF as a file; for plain http set APPTAINER_NOHTTPS=true"
        )
    return sif

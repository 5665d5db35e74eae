"""Building images: base, libraries and stage code, each a SIF on the one before.

The first two are named by the hash of what they are made from, so one that is there is right. The
container program builds them, and what it says goes to the terminal.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from pydantic import Field

from pyscale import DISTRIBUTION
from pyscale.console import talk
from pyscale.errors import UserError
from pyscale.filelocks import claimed, file_lock
from pyscale.images import content
from pyscale.images.catalog import ImageDefinition
from pyscale.images.content import definition_file
from pyscale.images.engine import LOCKED_ARCHITECTURE, Engine, find_engine, lacks_for_building
from pyscale.images.labels import UNKNOWN
from pyscale.images.listing import is_current
from pyscale.images.lockfile import ImageFolder, LockedImage, folder_errors_explained, sha256_of
from pyscale.images.parts import fetch_jars, fetch_wheels
from pyscale.processes import ran
from pyscale.resources import shipped
from pyscale.store.provenance import code_commit
from pyscale_stages.contract import Record
from pyscale_stages.errors import MissingPart, ResourceExhausted

NEEDED_BYTES = {"cpu": 8 * 2**30, "cuda": 30 * 2**30}
"""Unpacked image and its compressed copies, by what the libraries are built for."""
HASH_LETTERS = 12
GZIP, ZSTD = (f"-comp {name} -Xcompression-level 1" for name in ("gzip", "zstd"))
"""Why these: `docs/decisions/`, the record on layers of images."""
PATIENCE_S = 30.0
"""How long the container program may clean up after it was told to end."""
_FULL_DISK = ("no space left on device", "disk quota exceeded")
_LAST_LINES = 40


class BuildOptions(Record):
    """Where a build takes its parts from."""

    base: str | None = Field(
        None, description="Image docker://NAME@sha256:DIGEST, or SIF, that images stand on"
    )
    mirror: str | None = Field(None, description="Mirror of Debian; None is that of this machine")
    wheels: Path | None = Field(
        None, description="Folder with the wheels, so that none is fetched from elsewhere"
    )
    force: bool = Field(False, description="Build also what is current, with all its layers")


def build(
    definitions: Sequence[ImageDefinition], folder: ImageFolder, options: BuildOptions
) -> dict[str, float | None]:
    """Build those images that are not current, and lock them; the time of each, None for others."""
    base = content.choose_base(options.base, options.mirror)
    took: dict[str, float | None] = {definition.name: None for definition in definitions}

    def stale() -> list[ImageDefinition]:
        return [d for d in definitions if options.force or not is_current(folder, d)]

    if not stale():
        return took
    engine = find_engine()
    _refuse_what_is_lacking(stale(), base, folder)
    folder.make()
    with folder_errors_explained(folder.path):
        lock = file_lock(folder.path / ".building.busy")
        with claimed(lock, lambda: talk(f"waiting for another build in {folder.path}")):
            builder = _Builder(engine, folder, base, options)
            # Another build may have made them while this one waited.
            for definition in stale():
                start_s = time.monotonic()
                builder.make(definition)
                took[definition.name] = time.monotonic() - start_s
    return took


def _refuse_what_is_lacking(
    stale: Sequence[ImageDefinition], base: content.Base, folder: ImageFolder
) -> None:
    """Raise before anything is started where this machine cannot build."""
    lacks = lacks_for_building(
        folder.path,
        max(NEEDED_BYTES[definition.device] for definition in stale),
        debootstrap=base.origin == "debootstrap" and not _layer(folder, "base", base).is_file(),
    )
    if lacks:
        raise MissingPart(str(lacks[0]))


def _layer(folder: ImageFolder, name: str, base: content.Base, sha256: str | None = None) -> Path:
    return folder.path / "layers" / f"{name}-{(sha256 or base.sha256)[:HASH_LETTERS]}.sif"


class _Builder:
    """Builds images, one after the other, in a folder of its own."""

    def __init__(
        self, engine: Engine, folder: ImageFolder, base: content.Base, options: BuildOptions
    ) -> None:
        self._engine, self._folder, self._base, self._options = engine, folder, base, options
        self._anew = options.force
        self._place = folder.path / "building"
        self._parts = options.wheels or folder.path / "parts"

    def make(self, definition: ImageDefinition) -> None:
        """Build an image with the layers that it lacks, and lock it."""
        libraries = self._libraries(definition)
        labels = {
            "image": definition.name,
            "stage": definition.stage,
            "version": version(DISTRIBUTION),
            "git_commit": code_commit() or UNKNOWN,
            "lock_sha256": content.file_sha256(definition.lock_file),
            "content_sha256": content.content_sha256(definition),
        }
        self._clear()
        content.lay_out(content.code_files(definition.stage), self._place / "code")
        (self._place / "code" / "after_code.sh").write_text(definition.image.after_code, "utf-8")
        made = self._run(f"{definition.name}: stage code", "stage", labels, libraries=libraries)
        locked = LockedImage(
            sha256=sha256_of(made),
            size_bytes=made.stat().st_size,
            content_sha256=labels["content_sha256"],
            pyscale_version=labels["version"],
            git_commit=code_commit(),
            lock_sha256=labels["lock_sha256"],
            built_utc=datetime.now(UTC).replace(microsecond=0),
            engine=self._engine.named,
            architecture=LOCKED_ARCHITECTURE,
        )
        made.replace(self._folder.sif(definition.name))
        # Last, so that an image which a killed build left is not taken for a current one.
        self._folder.record(definition.name, locked)

    def _libraries(self, definition: ImageDefinition) -> Path:
        """Layer with an image's libraries, on the base."""
        sha256 = content.libraries_sha256(definition, self._base.sha256)
        layer = _layer(self._folder, f"{definition.name}-libraries", self._base, sha256)
        if layer.is_file() and not self._options.force:
            return layer
        fetch_wheels(definition, self._parts / "wheels")
        base = self._base_layer()
        self._clear()
        recipe, declared = self._place / "recipe", definition.image
        recipe.mkdir()
        shutil.copyfile(definition.lock_file, recipe / "lock.txt")
        (recipe / "debian.txt").write_text(" ".join(declared.debian), "utf-8")
        (recipe / "imports.py").write_text(f"import {', '.join(definition.imports)}\n", "utf-8")
        (recipe / "after_install.sh").write_text(declared.after_install, "utf-8")
        if declared.maven:
            fetch_jars(definition, self._parts)
            shutil.copytree(self._parts / definition.name / "jars", recipe / "jars")
        made = self._run(f"{definition.name}: libraries", "libraries", {}, base=base)
        return self._keep(made, layer, f"{definition.name}-libraries-*.sif")

    def _base_layer(self) -> Path:
        if self._base.origin == "given":
            return self._base.file
        layer = _layer(self._folder, "base", self._base)
        if layer.is_file() and not self._anew:
            return layer
        self._clear()
        name = self._base.file.stem
        made = self._run("Debian base", name, self._base.variables())
        # Once in a call, whatever stands on it.
        self._anew = False
        return self._keep(made, layer, "base-*.sif")

    def _keep(self, made: Path, layer: Path, others: str) -> Path:
        """Give a layer its name, in the place of the one before."""
        layer.parent.mkdir(exist_ok=True)
        for older in layer.parent.glob(others):
            older.unlink()
        return made.replace(layer)

    def _clear(self) -> None:
        """Empty the place of the build of what the last one, or a killed one, left."""
        shutil.rmtree(self._place, ignore_errors=True)
        if self._place.exists():
            # An unpacked image has files of other users, whom this one is in a namespace alone.
            command = ["unshare", "--map-root-user", "--map-auto", "rm", "-rf", str(self._place)]
            subprocess.run(command, check=True)
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
            command += ["--bind", f"{(self._parts / 'wheels').absolute()}:/mnt:ro"]
        for variable, value in sorted(variables.items()):
            command += ["--build-arg", f"{variable}={value}"]
        command += ["made.sif", str(definition_file(name))]
        environment = self._environment()
        # No image is run from libraries, and the build of the code reads them again.
        quickly = name == "libraries" and _squashes_by_zstd()
        environment["APPTAINER_MKSQUASHFS_ARGS"] = ZSTD if quickly else GZIP
        _told(command, what, self._place, environment)
        talk(f"== {what}: done in {time.monotonic() - start_s:.0f} s")
        return self._place / "made.sif"

    def _environment(self) -> dict[str, str]:
        """The user's environment without what would change the image's content."""
        binds = {"APPTAINER_BIND", "APPTAINER_BINDPATH"}
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("APPTAINERENV_") and name not in binds
        }
        kept["APPTAINER_CACHEDIR"] = str(self._place / "cache")
        # A shared filesystem often refuses the ids of a build, so a user may name a local disk.
        kept.setdefault("APPTAINER_TMPDIR", str(self._place))
        if os.geteuid() == 0:
            # As for commands in images: root has no need of host privileges, and may lack them.
            kept["APPTAINER_USERNS"] = "1"
        return kept


def _squashes_by_zstd() -> bool:
    # mksquashfs tells on stderr.
    said = ran(["mksquashfs", "-help"])
    return re.search(r"^\s*zstd\b", said.stdout + said.stderr, re.MULTILINE) is not None


def _told(command: Sequence[str], what: str, place: Path, environment: Mapping[str, str]) -> None:
    """Run a build; all that it says goes to stderr as it comes."""
    last: deque[str] = deque(maxlen=_LAST_LINES)
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=place,
        env=dict(environment),
        # Modes of files in the image must not depend on the umask of whoever builds it.
        umask=0o022,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                sys.stderr.write(line)
                last.append(line.strip())
        except BaseException:
            # It cleans up when it is told to end, as it does not when it is killed.
            process.terminate()
            process.wait(PATIENCE_S)
            raise
    if process.returncode == 0:
        return
    said = "\n".join(last).lower()
    if any(words in said for words in _FULL_DISK):
        raise ResourceExhausted(
            f"the disk of {place} filled up while {what} was built: free space there and build "
            "again"
        )
    raise UserError(f"building {what} failed ({last[-1] if last else 'no output'}): see above")

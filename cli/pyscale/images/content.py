"""The inputs of an image, its stage's code too, and their hash: equal, nothing is to be built.

Only names and bytes count, so that a checkout, its copy and an installed wheel agree.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pyscale_stages
from pyscale.errors import UserError
from pyscale.images.catalog import ImageDefinition, definition_file
from pyscale.processes import ran
from pyscale.resources import shipped
from pyscale_stages.hashing import sha256_of
from pyscale_stages.registry import load_stage
from pyscale_stages.resources import MODEL_FOLDERS

CORE_FOLDERS = ("measure",)
"""Folders of `pyscale_stages` that every stage needs; `synth` makes movies, outside of images."""

FILE_TIME_S = 1_600_000_000
"""Time that files of a build get, in seconds since 1970: any instant before Debian's release."""

_PACKAGE = Path(pyscale_stages.__file__).resolve().parent
_LEFT_BEHIND = {"__pycache__"}


def code_files(stage: str, package: Path = _PACKAGE) -> dict[str, Path]:
    """Files of one stage's image by their path inside it, in the order of the paths.

    `stage`: name of the stage, which is its folder's.
    """
    found = {path.name: path for path in package.iterdir() if path.is_file()}
    declared = load_stage(stage)
    for folder in (*CORE_FOLDERS, *declared.folders, stage):
        for path in _files_below(package / folder):
            found[path.relative_to(package).as_posix()] = path
    if declared.has_models:
        for models in MODEL_FOLDERS:
            for path in _files_below(models) if models.is_dir() else ():
                found[f"resources/models/{path.relative_to(models).as_posix()}"] = path
    return {f"pyscale_stages/{name}": found[name] for name in sorted(found)}


def lay_out(files: Mapping[str, Path], folder: Path) -> None:
    """Copy files into a new folder, with the same modes and times on every machine."""
    folder.mkdir()
    for name, source in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
        target.chmod(0o644)
    # Folders last: a file that is written into one changes its time.
    for path in sorted((folder, *folder.rglob("*")), reverse=True):
        if path.is_dir():
            path.chmod(0o755)
        os.utime(path, (FILE_TIME_S, FILE_TIME_S))


def _files_below(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir():
            if path.name not in _LEFT_BEHIND:
                yield from _files_below(path)
        elif path.is_file():
            yield path


OWN_FOLDERS = {"debian", "jars", "locks", "requirements"}
"""Folders of `containers/` whose files are no part of the steps that images share."""


def shared_files() -> dict[str, Path]:
    """What the definitions share beside themselves: the steps that several of them run."""
    containers = shipped("containers")
    return {
        path.relative_to(containers).as_posix(): path
        for folder in containers.iterdir()
        if folder.is_dir() and folder.name not in OWN_FOLDERS
        for path in folder.rglob("*")
        if path.is_file()
    }


def base_sha256(file: Path | None = None) -> str:
    """Hash of what the Debian system is made from; of the usual one where no file is named."""
    return hash_of_files({"base.def": file or definition_file("base"), **shared_files()})


def libraries_sha256(definition: ImageDefinition) -> str:
    """Hash of what an image's libraries are made from: base, definition, lock, other parts."""
    own = {"libraries.def": definition.definition_file, "lock.txt": definition.lock_file}
    if definition.jars_lock_file.is_file():
        own["jars.txt"] = definition.jars_lock_file
    others = (" ".join(definition.debian), " ".join(definition.maven))
    return hash_of_words((base_sha256(), hash_of_files(own), *others))


def content_sha256(definition: ImageDefinition) -> str:
    """Hash of all that an image is made from: its libraries and its stage's code."""
    code = hash_of_files({"stage.def": definition_file("stage"), **code_files(definition.stage)})
    return hash_of_words((libraries_sha256(definition), code))


def hash_of_files(files: dict[str, Path]) -> str:
    """Hash of named files; neither their place nor their order counts."""
    return hash_of_words(f"{name} {file_sha256(path)}" for name, path in sorted(files.items()))


def file_sha256(path: Path) -> str:
    """Hash of one small file that comes with pyscale."""
    try:
        return sha256_of(path)
    except FileNotFoundError as error:
        raise UserError(
            f"missing file {path}, an input of the image: install pyscale again, or restore it "
            "in the checkout (`make locks` writes the locks)"
        ) from error


def hash_of_words(words: Iterable[str]) -> str:
    """Hash of words in their order."""
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")
_WAYS = (
    "name a mirror of Debian by --mirror, an image of a registry with its digest by --base "
    "docker://NAME@sha256:DIGEST, or the SIF of a base that was built elsewhere by --base"
)


@dataclass(frozen=True)
class Base:
    """What the first layer is made from."""

    sha256: str
    """Hash of that, by which the layers on it are told apart."""
    file: Path
    """Definition to build, or the base itself where it is given."""
    origin: Literal["debootstrap", "registry", "given"] = "debootstrap"
    reference: str = ""
    mirror: str | None = None

    def variables(self) -> dict[str, str]:
        """Values for the variables of the definition."""
        if self.origin == "registry":
            return {"from": self.reference.removeprefix("docker://")}
        mirror = self.mirror or machine_mirror()
        address = urlsplit(mirror)
        if "@" in address.netloc:
            bare = address._replace(netloc=address.netloc.rpartition("@")[2]).geturl()
            raise UserError(
                f"the address of the mirror {bare} holds a login, which would stay in the image "
                "and in the log of its build: name a mirror that needs none by --mirror"
            )
        return {"mirror": mirror}


def choose_base(base: str | None, mirror: str | None) -> Base:
    """Understand the options `--base` and `--mirror`."""
    if base is None:
        return Base(base_sha256(), definition_file("base"), mirror=mirror)
    if base.startswith("docker://"):
        if not _DIGEST.search(base):
            raise UserError(
                f"--base {base} has no digest, so its content may change: write it as "
                "docker://NAME@sha256:DIGEST"
            )
        file = definition_file("base_docker")
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
        answer = ran([*ask, "Label: Debian", "Created-By: Packages"])
        answer.check_returncode()
    except (OSError, subprocess.CalledProcessError) as error:
        raise UserError(
            f"apt on this machine is missing or has no mirror of Debian: {_WAYS}"
        ) from (error)
    mirrors = answer.stdout.split()
    if not mirrors:
        raise UserError(f"apt on this machine has no mirror of Debian: {_WAYS}")
    return mirrors[0]

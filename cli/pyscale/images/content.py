"""The hash of an image's inputs: an equal hash means that there is nothing to build.

Only names and bytes count, so that a checkout, its copy and an installed wheel agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from pyscale.errors import UserError
from pyscale.images.catalog import ImageDefinition
from pyscale.images.stagecode import code_files
from pyscale.shipped import shipped
from pyscale_stages.hashing import sha256_of

OWN_FOLDERS = {"debian", "jars", "locks", "requirements"}
"""Folders of `containers/` whose files are no part of the steps that images share."""


def base_file() -> Path:
    """Definition of the Debian system that every image stands on."""
    return shipped("containers") / "base.def"


def base_from_registry_file() -> Path:
    """Definition of the same system where a registry's image takes debootstrap's place."""
    return shipped("containers") / "base_docker.def"


def stage_file() -> Path:
    """Definition of the last layer, which adds the stage's code."""
    return shipped("containers") / "stage.def"


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
    return hash_of_files({"base.def": file or base_file(), **shared_files()})


def lock_sha256(definition: ImageDefinition) -> str:
    """Hash of an image's Python lock, all its bytes."""
    return file_sha256(definition.lock_file)


def libraries_sha256(definition: ImageDefinition) -> str:
    """Hash of what an image's libraries are made from: base, definition, lock, other parts."""
    own = {"libraries.def": definition.definition_file, "lock.txt": definition.lock_file}
    if definition.jars_lock_file.is_file():
        own["jars.txt"] = definition.jars_lock_file
    others = (" ".join(definition.debian), " ".join(definition.maven))
    return hash_of_words((base_sha256(), hash_of_files(own), *others))


def content_sha256(definition: ImageDefinition) -> str:
    """Hash of all that an image is made from: its libraries and its stage's code."""
    code = hash_of_files({"stage.def": stage_file(), **code_files(definition.stage)})
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

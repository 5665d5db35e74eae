"""The inputs of an image, its stage's code too, and their hash: equal, nothing is to be built.

Only names and bytes count, so that a checkout, its copy and an installed wheel agree.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pyscale_stages
from pyscale.errors import UserError
from pyscale.images.catalog import ImageDefinition
from pyscale.images.packages import files_of_another
from pyscale.processes import ran
from pyscale.resources import shipped
from pyscale_stages.hashing import sha256_of
from pyscale_stages.registry import load_stage, others_stages
from pyscale_stages.resources import MODEL_FOLDERS

CORE_FOLDERS = ("measure",)
"""Folders of `pyscale_stages` that every stage needs; `synth` makes movies, outside of images."""

_PACKAGE = Path(pyscale_stages.__file__).resolve().parent
_LEFT_BEHIND = {"__pycache__"}


def definition_file(name: str) -> Path:
    """An Apptainer definition in `containers/`."""
    return shipped("containers") / f"{name}.def"


def code_files(stage: str, package: Path = _PACKAGE) -> dict[str, Path]:
    """Files of one stage's image by their path inside it, in the order of the paths.

    `stage`: name of the stage, which is its folder's where it ships with pyscale.
    """
    found = {path.name: path for path in package.iterdir() if path.is_file()}
    declared = load_stage(stage)
    own = () if stage in others_stages() else (stage,)
    for folder in (*CORE_FOLDERS, *declared.folders, *own):
        for path in _files_below(package / folder):
            found[path.relative_to(package).as_posix()] = path
    if declared.has_models:
        for models in MODEL_FOLDERS:
            for path in _files_below(models) if models.is_dir() else ():
                found[f"resources/models/{path.relative_to(models).as_posix()}"] = path
    inside = {f"pyscale_stages/{name}": path for name, path in found.items()}
    if not own:
        inside |= files_of_another(stage)
    return {name: inside[name] for name in sorted(inside)}


def lay_out(files: Mapping[str, Path], folder: Path) -> None:
    """Copy files into a new folder, with the same modes on every machine."""
    for name, source in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
        target.chmod(0o644)
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)


def _files_below(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir():
            if path.name not in _LEFT_BEHIND:
                yield from _files_below(path)
        elif path.is_file():
            yield path


def base_sha256(file: Path | None = None) -> str:
    """Hash of what the Debian system is made from; of the usual one where no file is named."""
    scripts = shipped("containers") / "scripts"
    shared = {path.name: path for path in _files_below(scripts)} if scripts.is_dir() else {}
    return hash_of_files({"base.def": file or definition_file("base"), **shared})


def libraries_sha256(definition: ImageDefinition, base_sha256: str) -> str:
    """Hash of what an image's libraries are made from: base, definition, lock, other parts."""
    own = {"libraries.def": definition_file("libraries"), "lock.txt": definition.lock_file}
    if definition.jars_lock_file.is_file():
        own["jars.txt"] = definition.jars_lock_file
    declared = definition.image
    others = (declared.debian, declared.maven, definition.imports, (declared.after_install,))
    words = (" ".join(words) for words in others)
    return hash_of_words((base_sha256, hash_of_files(own), *words))


def content_sha256(definition: ImageDefinition) -> str:
    """Hash of all that an image is made from, on the usual base: its libraries and its code."""
    code = hash_of_files({"stage.def": definition_file("stage"), **code_files(definition.stage)})
    libraries = libraries_sha256(definition, base_sha256())
    return hash_of_words((libraries, code, definition.image.after_code))


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

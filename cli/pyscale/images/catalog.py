"""The images that stages declare, which of them runs an entry, and the hash of all their inputs.

In a hash only names and bytes count, so that a checkout, its copy and an installed wheel agree;
where it is equal, nothing is to be built.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import pyscale_stages
from pyscale.errors import UserError
from pyscale.processes import ran
from pyscale.resources import shipped
from pyscale.settings import without_login
from pyscale_stages.contract import Device, Stage, StageParams
from pyscale_stages.declaration import Image
from pyscale_stages.errors import MissingPart
from pyscale_stages.hashing import sha256_of
from pyscale_stages.libraries import IN_EVERY_IMAGE
from pyscale_stages.registry import load_stage, others_stages, stage_names
from pyscale_stages.segment.params import MODEL_FOLDERS
from pyscale_stages.wording import did_you_mean


@dataclass(frozen=True)
class ImageDefinition:
    """One image: what its stage declares of it, for one kind of device."""

    name: str
    """Name of the image, and of its SIF without the ending."""
    stage: str
    """Stage that the image runs."""
    image: Image
    device: Literal["cpu", "cuda"] = "cpu"
    """What its libraries are built for."""

    @property
    def requirements(self) -> tuple[str, ...]:
        """What the lock is made from."""
        more = self.image.cuda or () if self.device == "cuda" else ()
        return (*IN_EVERY_IMAGE, *self.image.requirements, *more)

    @property
    def imports(self) -> tuple[str, ...]:
        """Modules that its build imports."""
        return self.image.imports or load_stage(self.stage).modules

    @property
    def lock_file(self) -> Path:
        """Every Python package of the image, with version and sha256."""
        if self.stage in others_stages():
            return folder_of_another(self.stage) / f"{self.name}.lock.txt"
        return shipped("containers") / "locks" / f"{self.name}.txt"

    @property
    def by_name_alone(self) -> bool:
        """Whether only its name asks for it: few clusters reach Maven, or have GPUs to try it."""
        return self.device != "cpu" or bool(self.image.maven)


def folder_of_another(stage: str) -> Path:
    """Folder of the package that has a stage which pyscale does not ship."""
    package = others_stages()[stage].module.partition(".")[0]
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(
            f"the stage {stage} is in the module {package}, but an image holds a package: put it "
            "into a folder with an __init__.py"
        )
    return Path(next(iter(spec.submodule_search_locations)))


@cache
def catalog() -> dict[str, ImageDefinition]:
    """Every image by name, in the order of the stages."""
    found = {}
    for stage_name in stage_names():
        stage = None
        # A package whose stage is broken is told of where that is used.
        with suppress(MissingPart):
            stage = load_stage(stage_name)
        if stage is None or stage.image is None:
            continue
        for name, image in {stage.name: stage.image, **stage.other_images}.items():
            found[name] = ImageDefinition(name, stage.name, image)
            if image.cuda is not None:
                cuda = f"{name}-cuda"
                found[cuda] = ImageDefinition(cuda, stage.name, image, "cuda")
    return found


def definitions(names: Sequence[str]) -> list[ImageDefinition]:
    """Images by their names; all of them where none is named."""
    known = catalog()
    for name in names:
        if name not in known:
            raise UserError(f"unknown image {name!r}: {did_you_mean(name, known)}")
    return [known[name] for name in names] if names else list(known.values())


def image_for(
    entry: str, stage: Stage, params: StageParams, device: Device, given: Mapping[str, str]
) -> str:
    """Name of the image of an entry: that of the setting `images`, else its stage's choice.

    For cuda the image's variant with that ending is taken, where there is one.
    """
    known = catalog()
    name = given.get(entry, given.get(stage.name))
    if name is None:
        own = stage.image_name(params) if stage.image_name else stage.name
        variant = f"{own}-{device}"
        return variant if variant in known else own
    if name not in known:
        raise UserError(
            f"unknown image {name!r} for {entry} in the setting images: {did_you_mean(name, known)}"
        )
    if known[name].stage != stage.name:
        fitting = [other for other, image in known.items() if image.stage == stage.name]
        raise UserError(
            f"the setting images gives {entry} the image {name}, which runs {known[name].stage}: "
            f"use one of {', '.join(fitting)}"
        )
    return name


CORE_FOLDERS = ("measure",)
"""Folders of `pyscale_stages` that every stage needs; `synth` makes movies, outside of images."""

REGISTRY = "docker://"
_PINNED = re.compile(rf"{REGISTRY}.+@sha256:[0-9a-f]{{64}}")
_PACKAGE = Path(pyscale_stages.__file__).resolve().parent


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
            for path in _files_below(models):
                found[f"resources/models/{path.relative_to(models).as_posix()}"] = path
    inside = {f"pyscale_stages/{name}": path for name, path in found.items()}
    if not own:
        inside |= _files_of_another(stage)
    return {name: inside[name] for name in sorted(inside)}


def _files_of_another(stage: str) -> dict[str, Path]:
    """Files of the package that has a stage, by their path inside its image."""
    folder = folder_of_another(stage)
    found = {path.relative_to(folder.parent).as_posix(): path for path in _files_below(folder)}
    # By its metadata the stage is found, as it is here.
    distribution = others_stages()[stage].dist
    for file in (distribution.files if distribution else None) or ():
        if file.name in {"METADATA", "entry_points.txt"}:
            found[f"{file.parent.name}/{file.name}"] = Path(str(file.locate()))
    return found


def _files_below(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_file() and "__pycache__" not in path.relative_to(folder).parts:
            yield path


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


def base_sha256(base: str | None = None) -> str:
    """Hash of what the Debian system is made from: by debootstrap, or from a registry's image."""
    is_image = base is not None and base.startswith(REGISTRY)
    if is_image and not _PINNED.fullmatch(str(base)):
        raise UserError(
            f"--base {base} has no digest, so its content may change: write it as "
            "docker://NAME@sha256:DIGEST"
        )
    shared = {path.name: path for path in _files_below(shipped("containers") / "scripts")}
    # Both have had their name in hashes from the first.
    name = "base_docker" if is_image else "base"
    sha256 = _hash_of_files({"base.def": definition_file(name), **shared})
    return _hash_of_words((sha256, str(base))) if is_image else sha256


def base_variables(base: str | None) -> dict[str, str]:
    """Values for the variables of the definition of the base, by what `--base` names."""
    if base is not None and base.startswith(REGISTRY):
        return {"from": base.removeprefix(REGISTRY)}
    mirror = base or machine_mirror()
    if without_login(mirror) != mirror:
        raise UserError(
            f"the address of the mirror {without_login(mirror)} holds a login, which would stay in "
            "the image and in the log of its build: name a mirror that needs none by --base"
        )
    return {"mirror": mirror}


def machine_mirror() -> str:
    """The mirror of Debian that this machine's own apt uses."""
    # The security archive has another label: it holds no whole system.
    ask = ["apt-get", "indextargets", "--format", "$(REPO_URI)"]
    try:
        answer = ran([*ask, "Label: Debian", "Created-By: Packages"])
        answer.check_returncode()
        return answer.stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError) as error:
        raise UserError(
            "apt on this machine is missing or has no mirror of Debian: name a mirror by --base, "
            "or an image of a registry with its digest by --base docker://NAME@sha256:DIGEST"
        ) from error


def libraries_sha256(definition: ImageDefinition, base_sha256: str) -> str:
    """Hash of what an image's libraries are made from: base, definition, lock, other parts."""
    own = {"libraries.def": definition_file("libraries"), "lock.txt": definition.lock_file}
    declared = definition.image
    others = (declared.debian, declared.maven, definition.imports, (declared.after_install,))
    words = (" ".join(words) for words in others)
    return _hash_of_words((base_sha256, _hash_of_files(own), *words))


def content_sha256(definition: ImageDefinition) -> str:
    """Hash of all that an image is made from, on the usual base: its libraries and its code."""
    code = _hash_of_files({"stage.def": definition_file("stage"), **code_files(definition.stage)})
    libraries = libraries_sha256(definition, base_sha256())
    return _hash_of_words((libraries, code, definition.image.after_code))


def file_sha256(path: Path) -> str:
    """Hash of one small file that comes with pyscale."""
    try:
        return sha256_of(path)
    except FileNotFoundError as error:
        raise UserError(
            f"missing file {path}, an input of the image: install pyscale again, or restore it "
            "in the checkout (`make locks` writes the locks)"
        ) from error


def _hash_of_files(files: dict[str, Path]) -> str:
    """Hash of named files; neither their place nor their order counts."""
    return _hash_of_words(f"{name} {file_sha256(path)}" for name, path in sorted(files.items()))


def _hash_of_words(words: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()

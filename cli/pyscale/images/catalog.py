"""The images that stages declare, and which of them runs an entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from pyscale.errors import UserError
from pyscale.resources import shipped
from pyscale_stages.contract import Device, Stage, StageParams
from pyscale_stages.declaration import Image
from pyscale_stages.errors import MissingPart
from pyscale_stages.libraries import IN_EVERY_IMAGE
from pyscale_stages.registry import load_stage, others_stages, stage_names
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

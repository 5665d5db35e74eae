"""The images of `containers/images.toml`, and which of them runs an entry."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from pyscale.errors import UserError
from pyscale.resources import shipped
from pyscale_stages.contract import Device, Record, Stage, StageParams
from pyscale_stages.wording import did_you_mean


def definition_file(name: str) -> Path:
    """An Apptainer definition in `containers/`."""
    return shipped("containers") / f"{name}.def"


class ImageDefinition(Record):
    """One image: a definition file, its requirements and its lock."""

    name: str = Field(description="Name of the image, and of its SIF without the ending")
    stage: str = Field(description="Stage that the image runs")
    definition: str = Field(description="Stem of the definition file in `containers/`")
    device: Literal["cpu", "cuda"] = Field("cpu", description="What its libraries are built for")
    debian: tuple[str, ...] = Field((), description="Debian packages that it adds to the base")
    maven: tuple[str, ...] = Field((), description="Maven coordinates of its Java libraries")

    @property
    def definition_file(self) -> Path:
        """The Apptainer definition of the image's libraries."""
        return definition_file(self.definition)

    @property
    def requirements_file(self) -> Path:
        """What the lock is made from."""
        return shipped("containers") / "requirements" / f"{self.definition}.in"

    @property
    def lock_file(self) -> Path:
        """Every Python package of the image, with version and sha256."""
        return shipped("containers") / "locks" / f"{self.name}.txt"

    @property
    def jars_lock_file(self) -> Path:
        """Every jar of the image, with its sha256, where somebody has locked them."""
        return shipped("containers") / "jars" / f"{self.name}.txt"


@cache
def catalog() -> dict[str, ImageDefinition]:
    """Every image by name, in the order of the file."""
    text = (shipped("containers") / "images.toml").read_text(encoding="utf-8")
    return {
        name: ImageDefinition(name=name, **values) for name, values in tomllib.loads(text).items()
    }


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
        own = stage.image(params) if stage.image else stage.name
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

"""The image that runs an entry of the suite."""

from __future__ import annotations

from collections.abc import Mapping

from pyscale.errors import UserError
from pyscale.images.catalog import catalog
from pyscale_stages.contract import Device, Stage, StageParams
from pyscale_stages.wording import did_you_mean


def image_for(
    entry: str, stage: Stage, params: StageParams, device: Device, given: Mapping[str, str]
) -> str:
    """Name of the image of an entry.

    Parameters
    ----------
    entry : str
        Entry of the suite.
    stage : Stage
        Stage that it runs, which names its image by its parameters.
    params : StageParams
    device : {"cpu", "cuda", "mps"}
        For "cuda" the image's variant with that ending is taken, where there is one.
    given : mapping of str to str
        The setting `images`: names by entry or stage, which replace the stage's choice.

    Raises
    ------
    UserError
        If the setting names no image, or one of another stage.
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

"""Checks of the container program, and of a suite's images: presence and lock.

Whether a container starts, and how, is found where the stages are asked in theirs.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyscale.doctor.examined import folder_of
from pyscale.errors import UserError
from pyscale.findings import Finding, ok, refused
from pyscale.images.catalog import catalog
from pyscale.images.engine import find_engine
from pyscale.images.lockfile import FoundImage, ImageFolder, look
from pyscale.planning.plan import Plan
from pyscale_stages.errors import MissingPart


def containers(plan: Plan) -> Iterator[Finding]:
    """Look for the container program and the images, where tasks run in them."""
    if plan.settings["runtime"] == "native":
        return
    try:
        engine = find_engine()
    except MissingPart as error:
        yield refused("container.engine", "", error)
    else:
        yield ok("container.engine", engine.program, engine.named)
    yield from images(plan)


def images(plan: Plan) -> Iterator[Finding]:
    """Compare what lies in the folder of images with its lock, by sizes; runs read all bytes."""
    folder = ImageFolder(folder_of(plan, "images_folder"))
    named = dict.fromkeys(trial.image for trial in plan.trials if trial.image in catalog())
    for name in filter(None, named):
        try:
            yield of_image(look(folder, name), unlocked=plan.settings["unlocked_images"])
        except UserError as error:
            yield refused("image.lock", "", error)
            return


def of_image(image: FoundImage, *, unlocked: bool) -> Finding:
    """Say how one image stands; `unlocked` is whether it may differ from its lock."""
    if image.state == "current":
        return ok("image.file", image.name, "as its lock says, by its size")
    found = refused("image.file", image.name, image.sentence)
    runs = image.state == "out of date" or (unlocked and image.state in {"unlocked", "changed"})
    return found.model_copy(update={"status": "warning"}) if runs else found

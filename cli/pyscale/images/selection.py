"""Default images of a build: those for CPUs whose parts are available here."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyscale.errors import UserError
from pyscale.images.build import BuildOptions, is_current
from pyscale.images.buildlog import BuildEvent, Listener
from pyscale.images.catalog import ImageDefinition, catalog
from pyscale.images.engine import find_engine
from pyscale.images.lockfile import ImageFolder
from pyscale.images.parts import fetch_jars
from pyscale.images.workshop import Workshop
from pyscale_stages.errors import MissingPart


@dataclass
class Selection:
    """What is to be built, and why the rest is not.

    `chosen`: in the order of the catalog. `left_out`: sentence by the name of an image.
    """

    chosen: list[ImageDefinition] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


def buildable(folder: ImageFolder, options: BuildOptions, listener: Listener) -> Selection:
    """Choose the images for CPUs, without those whose Java libraries are out of reach.

    Few clusters reach a Maven repository, while every build needs a package index: only what
    lacks the first is left out, and what lacks the second fails.
    """
    selection = Selection()
    for definition in catalog().values():
        why = _obstacle(definition, folder, options, listener)
        if why is None:
            selection.chosen.append(definition)
        else:
            selection.left_out[definition.name] = why
    return selection


def _obstacle(
    definition: ImageDefinition, folder: ImageFolder, options: BuildOptions, listener: Listener
) -> str | None:
    if definition.device != "cpu":
        return f"it is for {definition.device}: name it to build it"
    if not definition.maven or (not options.force and is_current(folder, definition)):
        return None
    parts = options.wheels or Workshop(folder.path, find_engine()).parts
    try:
        fetch_jars(
            definition,
            parts,
            lambda line: listener(BuildEvent(definition.name, "libraries", "said", line)),
        )
    except (UserError, MissingPart) as error:
        return str(error)
    return None

"""Images from a registry: what arrives is checked before it gets its name.

Steps of the user's own name images in a registry too, which become files beside the shipped ones.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from pyscale.errors import UserError
from pyscale.images.catalog import catalog
from pyscale.images.engine import PREFIX, Engine, find_engine, run_aloud
from pyscale.images.lockfile import ImageFolder
from pyscale.planning.suite import Suite
from pyscale.settings import without_login


def pull(folder: ImageFolder, source: str, engine: Engine) -> str:
    """Fetch an image from a registry, check it, and lock it under the name that it has; the name.

    An image of that name makes way, as for one that is built.
    """
    told = without_login(source)
    if not source.startswith("oras://"):
        raise UserError(f"{told!r} is not a registry address: write oras://HOST/PATH:TAG")
    with folder.place() as place:
        sif = _fetch(source, place, engine)
        labels = engine.labels_of(sif)
        name = labels.get(f"{PREFIX}image")
        if name not in catalog():
            raise UserError(f"{told} is not an image of this pyscale: nothing was installed")
        folder.install(sif, name, labels, told)
    return name


def _fetch(source: str, place: Path, engine: Engine) -> Path:
    """Let the container program fetch a SIF; it tells how far it is on the terminal."""
    sif = place / "image.sif"
    command = [engine.program, "pull", "--disable-cache", str(sif), source]
    if run_aloud(command, place, os.environ | {"APPTAINER_TMPDIR": str(place)}) != 0:
        raise UserError(
            f"{without_login(source)} cannot be pulled (Apptainer says why above): "
            "mend that, or copy its SIF as a file; for plain http set APPTAINER_NOHTTPS=true"
        )
    return sif


SUBFOLDER = "steps"
_PINNED = re.compile(
    r"(?P<name>(?:docker|oras)://[a-z0-9][\w./:-]*?)(?::[\w.-]+)?@sha256:(?P<digest>[0-9a-f]{64})",
    re.ASCII,
)


def with_images_here(suite: Suite, images: ImageFolder, *, pulls: bool) -> Suite:
    """The suite with each image in a registry replaced by its file.

    `images`: folder of the shipped images, beside which these lie. `pulls`: whether to fetch what
    is absent.
    """
    stages = dict(suite.stages)
    for entry, step in suite.stages.items():
        named = str(step.params.get("image", ""))
        if "://" in named:
            sif = _file_of(entry, named, images, pulls=pulls)
            params = {**step.params, "image": str(sif), "pulled_from": named}
            stages[entry] = step.model_copy(update={"params": params})
    return suite.model_copy(update={"stages": stages})


def _file_of(entry: str, named: str, images: ImageFolder, *, pulls: bool) -> Path:
    found = _PINNED.fullmatch(named)
    if found is None:
        raise UserError(
            f"the image {named} of {entry} is not pinned: name it as docker://NAME@sha256:DIGEST, "
            f"or make a file of it by `apptainer pull mine.sif {named}` and name that"
        )
    stem = found["name"].rpartition("/")[2]
    sif = images.path / SUBFOLDER / f"{stem}-{found['digest'][:16]}.sif"
    if not pulls or sif.is_file():
        return sif
    with images.place() as place:
        # Another pyscale may have pulled it while this one waited.
        if not sif.is_file():
            # A digest says more than a tag beside it, and container programs refuse both at once.
            arrived = _fetch(f"{found['name']}@sha256:{found['digest']}", place, find_engine())
            sif.parent.mkdir(exist_ok=True)
            arrived.replace(sif)
    return sif

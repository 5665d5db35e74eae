"""Every image that pyscale knows and in which state it is here."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import Field

from pyscale.errors import UserError
from pyscale.images.catalog import ImageDefinition, catalog
from pyscale.images.content import content_sha256, lock_sha256
from pyscale.images.lockfile import ImageFolder, LockedImage
from pyscale.images.sif import image_labels, read_sif
from pyscale_stages.contract import Record

State = Literal["current", "out of date", "absent", "changed on disk", "unlocked"]


class ListedImage(Record):
    """One image and its state."""

    name: str
    stage: str
    device: str
    state: State = Field(
        description="out of date: the definition, the Python lock or the stage's code has "
        "changed since; changed on disk: size differs from images.lock, or the SIF "
        "is incomplete; unlocked: not in images.lock"
    )
    because: str = Field("", description="Where it is out of date: what has changed")
    path: Path
    size_bytes: int | None = None
    built_utc: datetime | None = None
    sha256: str | None = Field(None, description="As locked; `verify` computes it")
    pyscale_version: str | None = None
    git_commit: str | None = None
    origin: str | None = None


def listed_images(folder: ImageFolder) -> list[ListedImage]:
    """Every image of the catalog, then what else the folder holds or its lock names.

    Reads headers and sizes only: what the bytes are is for `verify` to say.
    """
    locked = folder.read_lock().images
    known = catalog()
    others = sorted({*locked, *(sif.stem for sif in folder.sifs())} - set(known))
    return [
        _listed(name, folder.sif(name), known.get(name), locked.get(name))
        for name in (*known, *others)
    ]


def _listed(
    name: str, sif: Path, definition: ImageDefinition | None, locked: LockedImage | None
) -> ListedImage:
    stage, device = _nature(sif, definition)
    row = ListedImage(
        name=name,
        stage=stage,
        device=device,
        state=image_state(sif, definition, locked),
        path=sif,
        size_bytes=sif.stat().st_size if sif.is_file() else None,
    )
    if locked is None or row.state == "absent":
        return row
    told = locked.model_dump(
        include={"built_utc", "sha256", "pyscale_version", "git_commit", "origin"}
    )
    if definition is not None and row.state == "out of date":
        other_lock = lock_sha256(definition) != locked.lock_sha256
        told["because"] = "its Python lock" if other_lock else "its definition or stage code"
    return row.model_copy(update=told)


def image_state(sif: Path, definition: ImageDefinition | None, locked: LockedImage | None) -> State:
    """How an image stands beside its lock and what it would be made from now."""
    if not sif.is_file():
        return "absent"
    if locked is None:
        return "unlocked"
    try:
        header = read_sif(sif)
    except UserError:
        return "changed on disk"
    if header.size_bytes != locked.size_bytes:
        return "changed on disk"
    if definition is not None and content_sha256(definition) != locked.content_sha256:
        return "out of date"
    return "current"


def _nature(sif: Path, definition: ImageDefinition | None) -> tuple[str, str]:
    """Stage and device; of an image outside the catalog as its labels tell, if they do."""
    if definition is not None:
        return definition.stage, definition.device
    try:
        labels = image_labels(sif, read_sif(sif))
    except UserError:
        return "?", "?"
    own = catalog().get(labels.image)
    return labels.stage, own.device if own is not None else "?"

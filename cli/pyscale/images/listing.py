"""Images that are here, each in its state."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import Field

from pyscale.images.catalog import ImageDefinition, catalog
from pyscale.images.content import content_sha256, file_sha256
from pyscale.images.lockfile import ImageFolder, LockedImage
from pyscale_stages.contract import Record

State = Literal["current", "out of date", "absent", "changed on disk", "unlocked"]


class ListedImage(Record):
    """One image and its state."""

    name: str
    stage: str
    device: str
    state: State = Field(
        description="out of date: the definition, the Python lock or the stage's code has "
        "changed since; changed on disk: its size is not the locked one; unlocked: not locked"
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

    Reads sizes only: what the bytes are is for `verify` to say.
    """
    locked = folder.read_lock().images
    known = catalog()
    return [
        _listed(name, folder.sif(name), known.get(name), locked.get(name))
        for name in dict.fromkeys((*known, *folder.names()))
    ]


def _listed(
    name: str, sif: Path, definition: ImageDefinition | None, locked: LockedImage | None
) -> ListedImage:
    row = ListedImage(
        name=name,
        stage="?" if definition is None else definition.stage,
        device="?" if definition is None else definition.device,
        state=_state(sif, definition, locked),
        path=sif,
        size_bytes=sif.stat().st_size if sif.is_file() else None,
    )
    if locked is None or row.state == "absent":
        return row
    told = locked.model_dump(
        include={"built_utc", "sha256", "pyscale_version", "git_commit", "origin"}
    )
    if definition is not None and row.state == "out of date":
        other_lock = file_sha256(definition.lock_file) != locked.lock_sha256
        told["because"] = "its Python lock" if other_lock else "its definition or stage code"
    return row.model_copy(update=told)


def _state(sif: Path, definition: ImageDefinition | None, locked: LockedImage | None) -> State:
    if not sif.is_file():
        return "absent"
    if locked is None:
        return "unlocked"
    if sif.stat().st_size != locked.size_bytes:
        return "changed on disk"
    if definition is not None and content_sha256(definition) != locked.content_sha256:
        return "out of date"
    return "current"


def is_current(folder: ImageFolder, definition: ImageDefinition) -> bool:
    """Whether an image is there, as locked by its size, and made from what is here now."""
    locked = folder.read_lock().images.get(definition.name)
    return _state(folder.sif(definition.name), definition, locked) == "current"

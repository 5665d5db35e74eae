"""Images that are here: every one in its state, or one with all that is in it."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from pyscale.errors import UserError
from pyscale.images.catalog import ImageDefinition, catalog
from pyscale.images.content import content_sha256, file_sha256
from pyscale.images.engine import IMAGE_PYTHON, Engine
from pyscale.images.lockfile import ImageFolder, LockedImage
from pyscale.images.sif import ImageLabels, image_labels, read_sif, refuse_foreign
from pyscale_stages.binds import ISOLATED
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
    return [
        _listed(name, folder.sif(name), known.get(name), locked.get(name))
        for name in dict.fromkeys((*known, *folder.names()))
    ]


def _listed(
    name: str, sif: Path, definition: ImageDefinition | None, locked: LockedImage | None
) -> ListedImage:
    # Of an image outside the catalog its labels tell, if they do.
    stage, known = "?", definition
    if definition is None:
        with suppress(UserError):
            labels = image_labels(sif, read_sif(sif))
            stage, known = labels.stage, catalog().get(labels.image)
    row = ListedImage(
        name=name,
        stage=stage if definition is None else definition.stage,
        device="?" if known is None else known.device,
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
    try:
        header = read_sif(sif)
    except UserError:
        return "changed on disk"
    if header.size_bytes != locked.size_bytes:
        return "changed on disk"
    if definition is not None and content_sha256(definition) != locked.content_sha256:
        return "out of date"
    return "current"


def is_current(folder: ImageFolder, definition: ImageDefinition) -> bool:
    """Whether an image is there, as locked by its size, and made from what is here now."""
    locked = folder.read_lock().images.get(definition.name)
    return _state(folder.sif(definition.name), definition, locked) == "current"


# Runs inside: the standard library alone, so that it says the same of every image.
_LIST_PACKAGES = """
import importlib.metadata, json, pathlib
python, copyleft, debian, entry = {}, {}, {}, {}
for found in importlib.metadata.distributions():
    told = found.metadata
    python[told["Name"]] = found.version
    kinds = [c.rpartition(":: ")[2] for c in told.get_all("Classifier", []) if "License" in c]
    # The field License may hold a whole text.
    kinds += [told["License-Expression"] or "", (told["License"] or "").partition("\\n")[0]]
    gnu = [licence for licence in reversed(kinds) if "GPL" in licence or "GNU" in licence]
    if gnu:
        copyleft[told["Name"]] = gnu[0]
for line in pathlib.Path("/var/lib/dpkg/status").read_text().splitlines() + [""]:
    key, _, value = line.partition(": ")
    if line:
        entry.setdefault(key, value)
        continue
    if entry.get("Status", "").endswith(" installed"):
        debian[entry["Package"]] = entry["Version"]
    entry = {}
found = {"python_packages": python, "debian_packages": debian, "copyleft": copyleft}
print(json.dumps(found))
"""


class ImageDescription(Record):
    """One image, described from its file alone."""

    file: Path
    size_bytes: int
    architecture: str = Field(description="Machine that it runs on, as `uname -m` tells it")
    created_utc: datetime = Field(description="When the SIF was made")
    labels: ImageLabels = Field(description="What pyscale wrote into it")
    all_labels: dict[str, str]
    runscript: str
    help_text: str
    python_packages: dict[str, str] = Field(description="Version by name")
    debian_packages: dict[str, str] = Field(description="Version by name")
    copyleft: dict[str, str] = Field(
        description="Licence by name, of Python packages under the GPL, LGPL or AGPL"
    )


def describe(sif: Path, engine: Engine) -> ImageDescription:
    """Describe an image of pyscale; its own Python is asked for what is installed."""
    header = read_sif(sif)
    labels = image_labels(sif, header)
    refuse_foreign(sif, header)
    of_header = {"size_bytes", "architecture", "created_utc", "runscript", "help_text"}
    return ImageDescription(
        file=sif,
        labels=labels,
        all_labels=dict(sorted(header.labels.items())),
        **header.model_dump(include=of_header),
        **_packages(sif, engine),
    )


def _packages(sif: Path, engine: Engine) -> dict[str, Any]:
    done = engine.ask(*ISOLATED, str(sif), IMAGE_PYTHON, "-c", _LIST_PACKAGES)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise UserError(
            f"{sif} does not start here, so its packages cannot be listed "
            f"({said[-1] if said else 'no output'}): see `pyscale image verify {sif}`"
        )
    found = json.loads(done.stdout)
    return {kind: dict(sorted(versions.items())) for kind, versions in found.items()}

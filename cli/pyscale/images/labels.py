"""Labels of an image: its identity and its sources."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from pyscale.errors import UserError
from pyscale.images.sif import SifHeader
from pyscale_stages.contract import Record

UNKNOWN = "unknown"
"""What a label says where a fact is not known."""
PREFIX = "org.pyscale."
"""What the names of pyscale's own labels begin with; `containers/stage.def` gives them."""
# Written by the program that built the image.
_ENGINES = {
    "org.label-schema.usage.apptainer.version": "apptainer",
    "org.label-schema.usage.singularity.version": "singularity-ce",
}


class ImageLabels(Record):
    """What an image of pyscale says of itself."""

    image: str = Field(description="Name of the image")
    stage: str = Field(description="Stage that it runs")
    version: str = Field(description="Version of pyscale")
    git_commit: str | None = Field(description="Of the stage code, where it is known")
    lock_sha256: str = Field(description="Of the Python lock")
    content_sha256: str = Field(description="Of all that it was built from")
    engine: str = Field(description="Program and version that built it")


def image_labels(sif: Path, header: SifHeader) -> ImageLabels:
    """Labels of an image of pyscale."""
    labels = header.labels
    own = {
        name: labels.get(PREFIX + name, "") for name in ImageLabels.model_fields if name != "engine"
    }
    absent = [PREFIX + name for name, value in own.items() if not value and name != "git_commit"]
    if absent:
        raise UserError(
            f"{sif} is not an image of pyscale (no label {absent[0]}): name one that `pyscale "
            "image build` made"
        )
    engines = [f"{name} {labels[label]}" for label, name in _ENGINES.items() if label in labels]
    commit = own["git_commit"]
    known = {**own, "git_commit": None if commit in {"", UNKNOWN} else commit}
    return ImageLabels(**known, engine=", ".join(engines) or UNKNOWN)

"""Parameters of the segmentation, and where the embedded models lie."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from pyscale_stages.contract import Device, Method, StageParams
from pyscale_stages.errors import MissingPart
from pyscale_stages.framefiles import OutputFormat

_PACKAGE = Path(__file__).resolve().parents[1]
MODEL_FOLDERS = (_PACKAGE / "resources" / "models", _PACKAGE.parents[1] / "config" / "models")
"""Where the embedded models lie: in an installed wheel, and in a checkout."""


def embedded_model(name: str) -> Path:
    """Weights file of a model that ships with pyscale, by its name, which is the file's stem."""
    for folder in MODEL_FOLDERS:
        path = folder / f"{name}.pt"
        if path.is_file():
            return path
    raise MissingPart(
        f"the embedded model {name!r} is missing from this installation: install pyscale again, "
        "or train the model with `make model` in a checkout"
    )


EMBEDDED_MODEL = "pyscale-tiny"
EMBEDDED_PURPOSE = "a small nuclei model, for timing and for nuclei"


class SegmentParams(StageParams):
    """What to segment, with which model, and what counts as a cell."""

    channel: int = Field(0, ge=0, description="Channel to segment, counted from 0")
    model: str = Field(
        EMBEDDED_MODEL,
        min_length=1,
        description=(
            f"{EMBEDDED_MODEL} (embedded, {EMBEDDED_PURPOSE}), cyto3 (Cellpose 3), cpsam or "
            "cpsam_v2 (Cellpose 4), or the path of a weights file of either version"
        ),
    )
    diameter_px: float | None = Field(
        None, gt=0, description="Typical cell diameter; None is that of the model's training cells"
    )
    cellprob_threshold: float = Field(
        0.0,
        ge=-6,
        le=6,
        description="Threshold of cells; lower finds more and larger cells, higher fewer",
    )
    flow_threshold: float = Field(
        0.4, ge=0, description="Largest flow error of a kept cell; 0 keeps all"
    )
    min_size_px: int = Field(15, ge=0, description="Smallest kept cell in pixels")
    batch_size: int | None = Field(
        None,
        ge=1,
        description="Tiles of a frame per network call; absent is 1 on a CPU, where that is "
        "faster, and 8 elsewhere",
    )
    tile_px: int | None = Field(
        None,
        ge=32,
        multiple_of=16,
        description="Side of the tiles that Cellpose 3 cuts a frame into; absent is 224, as in its "
        "training. One so large that it covers the frame computes fewer pixels for nearly the same "
        "cells",
    )
    normalise: bool = Field(
        True, description="Scale each frame so that its percentiles 1 and 99 become 0 and 1"
    )
    output_format: OutputFormat = Field(
        "ome-tiff",
        description="How labels are written: ome-tiff, or ome-zarr, whose windows need no joining",
    )
    length_px: int | None = Field(
        None,
        ge=1,
        description="Side of a square in the middle of each frame; None is the whole frame",
    )
    calls: int = Field(
        1,
        ge=1,
        description="Repeats of each frame, the last for its labels: a process's first call takes "
        "longer",
    )
    build_each_call: bool = Field(
        False, description="Rebuild the model before each call instead of once"
    )
    estimate_diameter: bool = Field(
        False, description="Let Cellpose 3 estimate the cells' diameter in each call"
    )

    @model_validator(mode="after")
    def _one_diameter(self) -> Self:
        if self.estimate_diameter and self.diameter_px is not None:
            raise ValueError(
                f"diameter_px {self.diameter_px:g} and estimate_diameter exclude each other: "
                "leave one of them out"
            )
        return self


_CITES = {
    **dict.fromkeys((EMBEDDED_MODEL, "cyto3"), ("stringer2021", "stringer2025")),
    **dict.fromkeys(("cpsam", "cpsam_v2"), ("pachitariu2025",)),
}


def method(params: SegmentParams, _device: Device) -> Method:
    """Cellpose with the model."""
    name, stand_in = Path(params.model).name, None
    if params.model == EMBEDDED_MODEL:
        size_mb = embedded_model(EMBEDDED_MODEL).stat().st_size / 1e6
        stand_in = (
            f"{EMBEDDED_MODEL}, a small nuclei model of {size_mb:.0f} MB for timing: its times are "
            "not those of Cellpose's published models"
        )
    return Method(
        "Cellpose",
        f"{name}, estimated diameter" if params.estimate_diameter else name,
        versioned="cellpose",
        packages=("cellpose", "torch"),
        # Weights that are a user's own were trained with one of these versions.
        cites=(*_CITES.get(params.model, ("stringer2021", "pachitariu2022")), "paszke2019"),
        stand_in=stand_in,
    )

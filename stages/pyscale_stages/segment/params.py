"""Parameters of the segmentation."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from pyscale_stages.contract import StageParams

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
        None, gt=0, description="Typical cell diameter; None is what the model was trained on"
    )
    cellprob_threshold: float = Field(
        0.0, ge=-6, le=6, description="Lower finds more and larger cells, higher fewer"
    )
    flow_threshold: float = Field(
        0.4, ge=0, description="Largest flow error of a cell that is kept; 0 keeps all"
    )
    min_size_px: int = Field(15, ge=0, description="Cells with fewer pixels are dropped")
    batch_size: int = Field(8, ge=1, description="Tiles of a frame that the network sees at once")
    normalise: bool = Field(
        True, description="Scale each frame so that its percentiles 1 and 99 become 0 and 1"
    )
    length_px: int | None = Field(
        None,
        ge=1,
        description="Side of a square in the middle of each frame; None is the whole frame",
    )
    calls: int = Field(
        1,
        ge=1,
        description=(
            "How often each frame is segmented, the last for its labels: a process's first call "
            "takes longer than those after it"
        ),
    )
    build_each_call: bool = Field(
        False, description="Build the model anew before each call, and not once for all"
    )
    estimate_diameter: bool = Field(
        False, description="Let Cellpose 3 estimate the cells' diameter anew in each call"
    )

    @model_validator(mode="after")
    def _one_diameter(self) -> Self:
        if self.estimate_diameter and self.diameter_px is not None:
            raise ValueError(
                f"diameter_px {self.diameter_px:g} is given and estimate_diameter is on: "
                "leave one of them out"
            )
        return self

"""Parameters of the segmentation."""

from __future__ import annotations

from pydantic import Field

from pyscale_stages.contract import StageParams

EMBEDDED_MODEL = "pyscale-tiny"


class SegmentParams(StageParams):
    """What to segment, with which model, and what counts as a cell."""

    channel: int = Field(0, ge=0, description="Channel to segment, counted from 0")
    model: str = Field(
        EMBEDDED_MODEL,
        min_length=1,
        description=(
            "pyscale-tiny (embedded), cyto3 (Cellpose 3), cpsam or cpsam_v2 (Cellpose 4), "
            "or the path of a weights file of either version"
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

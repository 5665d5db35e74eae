"""Parameters of the tracking."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from pyscale_stages.contract import StageParams


class TrackParams(StageParams):
    """Which tracker links the cells, and how far a cell may move or stay lost."""

    backend: Literal["laptrack", "trackmate"] = Field(
        "laptrack", description="laptrack (Python), or trackmate (Java; needs TrackMate's jars)"
    )
    max_distance_px: float = Field(
        15.0, gt=0, description="Farthest that a cell moves between two frames, or from a division"
    )
    gap_distance_px: float = Field(
        15.0, gt=0, description="Farthest that a cell lies from where it was lost"
    )
    gap_frames: int = Field(
        2,
        ge=1,
        description="Most frames from a lost cell to its return: 2 bridges one, 1 bridges none",
    )
    splitting: bool = Field(False, description="A track may divide into two")
    overlap_frames: int | None = Field(
        None,
        ge=1,
        description="Frames read beyond each end of a window; None is twice gap_frames",
    )
    trackmate_jars: str | None = Field(
        None,
        min_length=1,
        description=(
            "Fiji folder or folder of jars with TrackMate 7; None takes the environment's "
            "PYSCALE_TRACKMATE_JARS, else Maven"
        ),
    )
    trackmate_heap_mib: int | None = Field(
        None,
        ge=64,
        description="Java heap; None is three quarters of the job's memory, where it is limited",
    )

    @model_validator(mode="after")
    def _windows_must_see_every_gap(self) -> Self:
        if self.overlap_frames is not None and self.overlap_frames < self.gap_frames:
            raise ValueError(
                f"overlap_frames ({self.overlap_frames}) must be at least gap_frames "
                f"({self.gap_frames}), or windows could not see every gap that they close"
            )
        return self

    @property
    def context_frames(self) -> int:
        """Frames that a window reads beyond each of its ends."""
        return self.overlap_frames or 2 * self.gap_frames

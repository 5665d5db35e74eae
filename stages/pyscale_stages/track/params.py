"""Parameters of the tracking."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from pyscale_stages.contract import Device, Method, StageParams

OF_THE_DATA = "None is the median diameter of the cells in the first frame that has any"


class TrackParams(StageParams):
    """Which tracker links the cells, and how far a cell may move or stay lost."""

    backend: Literal["laptrack", "sparse", "overlap", "trackmate"] = Field(
        "laptrack",
        description="laptrack (Python); sparse (SciPy: the same links, many times faster); overlap "
        "(NumPy: cells that cover each other, for crowded frames in which cells move less than "
        "their radius); trackmate (Java; needs its jars)",
    )
    max_distance_px: float | None = Field(
        None, gt=0, description=f"Farthest move of a cell between two frames; {OF_THE_DATA}"
    )
    gap_distance_px: float | None = Field(
        None, gt=0, description=f"Farthest distance of a cell from where it was lost; {OF_THE_DATA}"
    )
    splitting_distance_px: float | None = Field(
        None, gt=0, description=f"Farthest distance of a daughter from its mother; {OF_THE_DATA}"
    )
    gap_frames: int = Field(
        2,
        ge=1,
        description="Most frames from a lost cell to its return: 2 bridges one missing frame, 1 "
        "bridges none",
    )
    splitting: bool = Field(True, description="A track may divide into two")
    overlap_frames: int | None = Field(
        None,
        ge=1,
        description="Frames read beyond each end of a window; None uses the minimum: twice "
        "gap_frames, or gap_frames with the backend overlap",
    )
    trackmate_jars: str | None = Field(
        None,
        min_length=1,
        description="Fiji folder or folder of jars with TrackMate 7.10 or newer; None uses "
        "PYSCALE_TRACKMATE_JARS, else Maven",
    )
    trackmate_heap_mib: int | None = Field(
        None,
        ge=64,
        description="Java heap; None uses three quarters of the job's memory, where it is limited",
    )

    @model_validator(mode="after")
    def _windows_must_see_every_gap(self) -> Self:
        if self.overlap_frames is not None and self.overlap_frames < self._least_overlap_frames:
            raise ValueError(
                f"overlap_frames ({self.overlap_frames}) must be at least "
                f"{self._least_overlap_frames} for gap_frames {self.gap_frames} and the backend "
                f"{self.backend}, or windows would decide differently from the whole movie: "
                "raise it, or leave it out"
            )
        return self

    @property
    def context_frames(self) -> int:
        """Frames that a window reads beyond each of its ends."""
        return self.overlap_frames or self._least_overlap_frames

    @property
    def _least_overlap_frames(self) -> int:
        # A link by overlap depends on the frames that it spans alone. The other trackers weigh
        # all gaps and divisions at once: a link depends on those that compete with it, and with
        # once gap_frames, windows were seen to decide otherwise than the whole movie.
        return self.gap_frames if self.backend == "overlap" else 2 * self.gap_frames


def method(params: TrackParams, _device: Device) -> Method:
    """The tracker."""
    match params.backend:
        case "laptrack":
            return Method(
                "laptrack",
                versioned="laptrack",
                packages=("laptrack", "scipy"),
                cites=("fukai2023", "jaqaman2008"),
            )
        case "sparse":
            return Method(
                "laptrack's steps on sparse graphs",
                packages=("scipy",),
                cites=("fukai2023", "jaqaman2008"),
            )
        case "overlap":
            return Method("links by overlap", packages=("numpy",))
        case "trackmate":
            return Method(
                "TrackMate",
                "sparse LAP tracker",
                versioned="TrackMate",
                # The last one only fetches jars, and is recorded where it did.
                packages=("TrackMate", "Java", "pyimagej"),
                cites=("ershov2022", "tinevez2017", "jaqaman2008"),
            )

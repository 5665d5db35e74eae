"""Parameters of the reconstruct stage."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from pyscale_stages.contract import StageParams

Problem = Literal["colour_deblur", "tomography_2d", "tomography_3d"]
STEP_PX = 8
"""The network halves an image three times, so that all lengths are multiples of this."""


class ReconstructParams(StageParams):
    """Which image is reconstructed, by which denoiser, and how that is cut and timed."""

    problem: Problem = Field(
        "colour_deblur",
        description="colour_deblur of a colour image seen through several anisotropic Gaussian "
        "blurs, tomography_2d by parallel beams, tomography_3d by cone beams",
    )
    size_px: int = Field(256, ge=32, description="Height and width of the image, and its depth")
    operators: int = Field(
        8,
        ge=1,
        description="Parts that the physics is shared by: blurs, or groups of angles",
    )
    angles: int = Field(100, ge=1, description="Projections of a tomography")
    projector: Literal["torch", "astra"] = Field(
        "torch",
        description="What computes cone beams: torch by samples along rays, on any device, or "
        "ASTRA, which needs an NVIDIA GPU",
    )
    noise: float = Field(
        0.01, ge=0, description="Standard deviation of the noise, as a share of the largest value"
    )
    channels: tuple[int, int, int, int] = Field(
        (64, 128, 256, 512), description="Channels of the denoiser DRUNet at its four scales"
    )
    blocks: int = Field(4, ge=1, description="Residual blocks of the denoiser at each scale")
    weights: Path | None = Field(
        None,
        description="File of the denoiser's weights; none takes random ones, by which only times "
        "mean something",
    )
    sigma: float = Field(0.05, gt=0, description="Noise that the denoiser is told to remove")
    tile_px: int = Field(448, ge=16, description="Length of a tile, without its margin")
    overlap_px: int = Field(32, ge=0, description="Margin of a tile on each side")
    tiles_at_once: int = Field(1, ge=1, description="Tiles in one call of the denoiser")
    whole_at_one: bool = Field(
        True, description="Let one rank denoise the image uncut, as published: several cut it"
    )
    warmup_iterations: int = Field(2, ge=1, description="Iterations before any is timed")
    iterations: int = Field(10, ge=1, description="Iterations that are timed")
    gate: bool = Field(
        True, description="Compare gradient and denoiser with those of one rank, after all timing"
    )

    @model_validator(mode="after")
    def _lengths_fit_the_network(self) -> ReconstructParams:
        for name in ("size_px", "tile_px", "overlap_px"):
            if getattr(self, name) % STEP_PX:
                raise ValueError(
                    f"{name} {getattr(self, name)} is no multiple of {STEP_PX}, by which the "
                    "denoiser shrinks an image: give one that is"
                )
        return self

    @model_validator(mode="after")
    def _astra_computes_cones(self) -> ReconstructParams:
        if self.projector == "astra" and self.problem != "tomography_3d":
            raise ValueError(
                f"projector astra computes the cone beams of tomography_3d, and {self.problem} has "
                "none: leave it out"
            )
        return self

    @model_validator(mode="after")
    def _parts_are_of_angles(self) -> ReconstructParams:
        if self.problem != "colour_deblur" and self.operators > self.angles:
            raise ValueError(
                f"{self.angles} angles cannot be put into {self.operators} groups: give fewer "
                "operators, or more angles"
            )
        return self

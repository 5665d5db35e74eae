"""Parameters of the stage `register_denoise`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from pyscale_stages.contract import Device, Method, StageParams
from pyscale_stages.framefiles import OutputFormat

Iterations = tuple[Annotated[int, Field(ge=0, le=100_000)], ...]

MIN_LEVEL_PX = 8
"""Shortest side of a frame at the coarsest level: below it ANTs answers nonsense."""


class RegisterDenoiseParams(StageParams):
    """What is done to each frame; the defaults of the registration are ANTs' own."""

    registration: bool = Field(True, description="Register every frame to the reference frame")
    backend: Literal["ants", "fft"] = Field(
        "ants",
        description="What finds the transforms: ANTs, or for translations an FFT, many times "
        "faster, which hands over to ANTs where it is not sure",
    )
    transform: Literal["Translation", "Rigid", "Affine", "SyN"] = Field(
        "Translation", description="Kind of transform; SyN is an Affine followed by a deformation"
    )
    reference: Literal["frame", "previous"] = Field(
        "frame",
        description="Register every frame to one reference frame, or each to the frame before it "
        "(for specimens that change over the movie); shifts between neighbours are "
        "then added up from frame 0 when windows are merged",
    )
    reference_frame: int = Field(
        0,
        ge=0,
        description="Frame of the whole movie that all others are registered to, from 0; every "
        "window reads it, so results do not depend on the window",
    )
    channel: int = Field(
        0, ge=0, description="Channel that is registered, from 0; all channels move with it"
    )
    iterations: Iterations = Field(
        (2100, 1200, 1200, 10),
        min_length=1,
        description="Maximum iterations of the linear registration at each level, coarsest first",
    )
    shrink_factors: tuple[Annotated[int, Field(ge=1, le=64)], ...] = Field(
        (6, 4, 2, 1), description="Factor by which frames are shrunk at each level"
    )
    smoothing_sigmas_px: tuple[Annotated[float, Field(ge=0, le=64)], ...] = Field(
        (3, 2, 1, 0), description="Standard deviation of the Gaussian blur at each level"
    )
    sampling_fraction: float = Field(
        0.2, gt=0, le=1, description="Share of the pixels that the linear registration compares"
    )
    syn_iterations: Iterations = Field(
        (40, 20, 0),
        min_length=1,
        description="Maximum iterations of the deformation at each level, coarsest first; each "
        "level doubles the resolution, the last has the full one",
    )
    denoiser: Literal["none", "wavelet", "ants"] = Field(
        "wavelet",
        description="Denoiser of every channel: wavelets after equalising the camera's noise, or "
        "ANTs' adaptive non-local means",
    )

    output_format: OutputFormat = Field(
        "ome-tiff",
        description="How frames are written: ome-tiff, or ome-zarr, whose windows need no joining",
    )

    @model_validator(mode="after")
    def _levels_match(self) -> Self:
        lengths = {len(self.iterations), len(self.shrink_factors), len(self.smoothing_sigmas_px)}
        if len(lengths) != 1:
            raise ValueError(
                "iterations, shrink_factors and smoothing_sigmas_px must name the same number of "
                "levels"
            )
        if self.reference == "previous" and self.reference_frame:
            raise ValueError(
                "reference is previous, which adds up from frame 0: leave out reference_frame"
            )
        if self.reference == "previous" and self.transform == "SyN":
            raise ValueError(
                "reference is previous, and deformations cannot be added up: use "
                "the transform Translation, Rigid or Affine"
            )
        if self.backend == "fft" and self.transform != "Translation":
            raise ValueError(
                "backend is fft, which finds nothing but shifts: set backend to ants for "
                f"{self.transform}"
            )
        if not self.registration and self.denoiser == "none":
            raise ValueError("registration is off and denoiser is none: choose one of them")
        return self

    @property
    def adds_up(self) -> bool:
        """Whether frames are registered to their neighbours, and the transforms added up."""
        return self.registration and self.reference == "previous"


DENOISERS = {
    "wavelet": ("wavelets", ("PyWavelets",), ("chang2000", "coifman1995", "lee2019")),
    "ants": ("ANTs non-local means", (), ("manjon2010",)),
}
"""Short name, packages and citations of each denoiser."""


def method(params: RegisterDenoiseParams, _device: Device) -> Method:
    """The registration by its backend, and the denoiser."""
    names, packages, cites = [], [], []
    by_ants = params.registration and params.backend == "ants"
    if params.registration and not by_ants:
        names.append("FFT Translation")
        packages.append("scipy")
        cites += ["baker2004", "virtanen2020"]
    if by_ants:
        names.append(f"ANTs {params.transform}")
        cites += ["avants2011", *(["avants2008"] if params.transform == "SyN" else [])]
    if by_ants or params.denoiser == "ants":
        packages.append("antspyx")
        cites.append("tustison2021")
    if params.denoiser != "none":
        name, needs, sources = DENOISERS[params.denoiser]
        names.append(name)
        packages += needs
        cites += sources
    first, *rest = names
    return Method(first, ", ".join(rest), packages=tuple(packages), cites=tuple(cites))

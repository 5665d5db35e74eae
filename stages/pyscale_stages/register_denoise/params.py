"""Parameters of the stage `register_denoise`."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from pyscale_stages.contract import Device, Method, StageParams
from pyscale_stages.framefiles import OutputFormat


class RegisterDenoiseParams(StageParams):
    """What is done to each frame."""

    registration: bool = Field(True, description="Register every frame to the reference frame")
    backend: Literal["ants", "fft"] = Field(
        "ants",
        description="What finds the transforms: ANTs, or for translations an FFT, many times "
        "faster, which leaves frames in place where it is not sure",
    )
    transform: Literal["Translation", "Rigid", "Affine", "SyN"] = Field(
        "Translation", description="Kind of transform; SyN is an Affine followed by a deformation"
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
    def _fit_together(self) -> Self:
        if self.backend == "fft" and self.transform != "Translation":
            raise ValueError(
                "backend is fft, which finds nothing but shifts: set the transform to Translation, "
                f"or the backend to ants for {self.transform}"
            )
        if not self.registration and self.denoiser == "none":
            raise ValueError(
                "registration is off and denoiser is none: switch registration on, or choose "
                "a denoiser"
            )
        return self


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

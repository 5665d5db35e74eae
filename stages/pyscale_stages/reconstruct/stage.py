"""The reconstruct stage: one image by several ranks, and where each iteration's time goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from pyscale_stages.contract import Device, Method, Resources, Stage, StageParams, Surroundings
from pyscale_stages.declaration import Image, Needs
from pyscale_stages.libraries import OF_EXTRA
from pyscale_stages.reconstruction import Reconstruction
from pyscale_stages.registry import later

if TYPE_CHECKING:
    from pyscale_stages.trying import Trying


IMAGE = "reconstruction.tif"
"""File of the image that the ranks leave."""
Problem = Literal["colour_deblur", "tomography_2d", "tomography_3d"]
STEP_PX = 8
"""The network halves an image three times, so that all lengths are multiples of this."""


class ReconstructParams(StageParams):
    """Which image is reconstructed, by which denoiser, and how that is cut and timed."""

    problem: Problem = Field(
        "colour_deblur",
        description="Problem: colour_deblur of a colour image behind anisotropic Gaussian blurs, "
        "tomography_2d by parallel beams, or tomography_3d by cone beams",
    )
    size_px: int = Field(256, ge=32, description="Height and width of the image, and its depth")
    height_px: int | None = Field(
        None, ge=32, description="Height of a colour image that is size_px wide; none is as high"
    )
    image: Path | None = Field(
        None,
        description="Image of your own in place of the made one, cropped to multiples of 8 px: for "
        "tomography_3d the planes of a file, else its first frame; size_px is not read then",
    )
    operators: int = Field(
        8, ge=1, description="Parts of the physics that ranks share: blurs, or groups of angles"
    )
    angles: int = Field(100, ge=1, description="Projections of a tomography")
    projector: Literal["torch", "astra"] = Field(
        "torch",
        description="Projector of cone beams: torch by samples along rays, on any device, or "
        "astra, which needs an NVIDIA GPU",
    )
    noise: float = Field(
        0.01, ge=0, description="Standard deviation of the noise, relative to the largest value"
    )
    channels: tuple[int, int, int, int] = Field(
        (64, 128, 256, 512), description="Channels of the denoiser DRUNet at its four scales"
    )
    blocks: int = Field(4, ge=1, description="Residual blocks of the denoiser at each scale")
    weights: Path | None = Field(
        None,
        description="File of the denoiser's weights; none uses random ones, which only give "
        "valid times",
    )
    sigma: float = Field(0.05, gt=0, description="Noise level that the denoiser removes")
    tile_px: int = Field(448, ge=16, description="Length of a tile, without its margin")
    overlap_px: int = Field(32, ge=0, description="Margin of a tile on each side")
    tiles_at_once: int = Field(1, ge=1, description="Tiles in one call of the denoiser")
    idle_ranks: bool = Field(
        False, description="Start more ranks than tiles: those without one wait for the others"
    )
    whole_at_one: bool = Field(
        True, description="Let one rank denoise the whole image, as published; several ranks cut it"
    )
    warmup_iterations: int = Field(2, ge=1, description="Iterations before timing")
    iterations: int = Field(10, ge=1, description="Timed iterations")
    gate: bool = Field(
        True, description="Compare gradient and denoiser with those of one rank, after all timing"
    )

    @model_validator(mode="after")
    def _fit_each_other(self) -> ReconstructParams:
        for name in ("size_px", "height_px", "tile_px", "overlap_px"):
            if (getattr(self, name) or 0) % STEP_PX:
                raise ValueError(
                    f"{name} {getattr(self, name)} is not a multiple of {STEP_PX}, by which the "
                    "denoiser shrinks an image: use one that is"
                )
        if self.height_px is not None and (self.image or self.problem != "colour_deblur"):
            raise ValueError(
                "height_px is only for the made image of colour_deblur: leave it out, or leave "
                "image out"
            )
        if self.projector == "astra" and self.problem != "tomography_3d":
            raise ValueError(
                "projector astra is only for the cone beams of tomography_3d, not for "
                f"{self.problem}: leave it out"
            )
        if self.problem != "colour_deblur" and self.operators > self.angles:
            raise ValueError(
                f"{self.angles} angles cannot form {self.operators} groups: use fewer operators, "
                "or more angles"
            )
        return self


_PROBLEMS: dict[Problem, str] = {
    "colour_deblur": "colour deblurring",
    "tomography_2d": "2D tomography",
    "tomography_3d": "3D tomography",
}


def method(params: ReconstructParams, _device: Device) -> Method:
    """DeepInverse's plug-and-play reconstruction with DRUNet."""
    published = {
        name: ReconstructParams.model_fields[name].default for name in ("channels", "blocks")
    }
    is_smaller = any(getattr(params, name) != value for name, value in published.items())
    astra = params.projector == "astra"
    return Method(
        "DeepInverse",
        f"{_PROBLEMS[params.problem]} with {'a smaller ' if is_smaller else ''}DRUNet",
        versioned="deepinv",
        packages=("deepinv", "torch", *(["astra-toolbox"] if astra else [])),
        cites=(
            *("tachella2025", "zhang2022", "venkatakrishnan2013", "paszke2019"),
            *(["vanaarle2016"] if astra else []),
        ),
        stand_in=(
            f"a DRUNet of {params.blocks} {'block' if params.blocks == 1 else 'blocks'} at each "
            f"scale with {', '.join(map(str, params.channels))} channels: its times are not those "
            "of the published network"
        )
        if is_smaller
        else None,
    )


def files_of(params: ReconstructParams) -> Surroundings:
    """Name the files of weights and of the image, where they are given."""
    given = (params.weights, params.image)
    return Surroundings(files=tuple(file for file in given if file is not None))


def look(params: ReconstructParams, _device: str, _here: bool) -> None:
    """Look for the weights."""
    from pyscale_stages.reconstruct.denoiser import weights_of

    weights_of(params)


def try_out(trying: Trying) -> None:
    """Reconstruct a small image."""
    size_px = 32 if trying.params.problem == "tomography_3d" else 64
    once = {"iterations": 1, "warmup_iterations": 1}
    trying.small(size_px=size_px, whole_at_one=True, gate=False, **once)


NEEDS = Needs(
    of_choice={
        ("projector", "astra"): (
            ("torch", "torchvision", "deepinv", "astra"),
            "reconstruct_astra",
        ),
    },
    deciding=("projector", "weights"),
    look=look,
    try_out=try_out,
)


def refuse_ranks(params: ReconstructParams, ranks: int) -> None:
    """Refuse more ranks than the image has tiles."""
    from pyscale_stages.reconstruct.images import lengths_of
    from pyscale_stages.reconstruct.tiles import grid_of

    grid_of((1, *lengths_of(params)), params, ranks)


STAGE = Stage(
    name="reconstruct",
    summary="Plug-and-play reconstruction of one image by several ranks, each component timed",
    params=ReconstructParams,
    inputs=(),
    output=IMAGE,
    packages=("deepinv", "torch", "torchvision", "astra-toolbox"),
    samples=(Reconstruction,),
    determinism=(
        "The same seed, parameters and ranks give the same image on one device, apart from the "
        "order of sums; tiles change it near their borders; times differ"
    ),
    run=later("reconstruct.run", "run"),
    merge=later("reconstruct.output", "merge"),
    check=later("reconstruct.output", "check"),
    method=method,
    resources=Resources(cpus=1, memory_gib=4.0, devices=("cpu", "cuda")),
    extra="reconstruct",
    image=Image(
        OF_EXTRA["reconstruct"],
        # ASTRA computes cone beams on GPUs alone, and brings CUDA with it.
        cuda=OF_EXTRA["reconstruct_astra"],
        imports=("polars", "tifffile", "torch"),
        # Beside a CPU torch, torchvision cannot be imported by itself.
        after_code=(
            '/opt/pyscale/venv/bin/python -B -c "from pyscale_stages import torchdevice; '
            'torchdevice.make_torchvision_importable(); import deepinv"'
        ),
    ),
    modules=("torch", "torchvision", "deepinv", "tifffile"),
    folders=("ranks",),
    surroundings=files_of,
    work="shared",
    refuse_workers=refuse_ranks,
    data=("phantom",),
    needs=NEEDS,
)

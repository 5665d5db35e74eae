"""Measurements of one rank of a distributed reconstruction."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field

from pyscale_stages.record import AtLeastOne, Bytes, Metric, Record, Sample, Seconds, Whole

Component = Literal["gradient", "denoiser", "communication", "gather", "barrier"]
COMPONENTS: tuple[Component, ...] = get_args(Component)
"""What an iteration is made of; none is counted twice, and what is in none is the rest."""
GRADIENT_TOLERANCE = 1e-5
"""How far a gradient over ranks may be from the serial one, as a share of its largest value."""
DENOISER_TOLERANCE = 1e-6
"""The same of the denoised image, where tiles hold all that the network looks at."""

TOLD = Metric(ranks="first", trials="told")
QUALITY = Metric(ranks="first", trials="median")


class Iteration(Record):
    """One iteration as one rank saw it, from its own clock, the device's work waited for."""

    wall_s: Seconds = Field(
        gt=0, description="Length of the iteration, by readings of the clock of its own"
    )
    gradient_s: Seconds = Field(description="Physics of this rank's operators, and the step")
    denoiser_s: Seconds = Field(description="Tiles cut, denoised and put in place by this rank")
    communication_s: Seconds = Field(
        description="Exchange of the gradient's parts, begun when all ranks were ready"
    )
    gather_s: Seconds = Field(
        description="Exchange of the denoised tiles, begun when all ranks were ready"
    )
    barrier_s: Seconds = Field(
        description="Waiting for other ranks: how unevenly the work was shared"
    )

    @property
    def rest_s(self) -> float:
        """What is in none of the components, in seconds."""
        return self.wall_s - sum(float(getattr(self, f"{name}_s")) for name in COMPONENTS)


class Tiling(Record):
    """How the denoiser's work was cut, and what that costs."""

    tile_px: Annotated[Whole | None, TOLD] = Field(
        None, description="Length of a tile without its margin; None where the image was not cut"
    )
    overlap_px: Annotated[Whole, TOLD] = Field(
        0, ge=0, description="Margin on each side, denoised and thrown away"
    )
    tiles: Annotated[Whole, TOLD] = Field(1, ge=1, description="Tiles of all ranks")
    tiles_here: Whole = Field(1, ge=0, description="Tiles of this rank")
    work_multiplier: Annotated[AtLeastOne, TOLD] = Field(
        1.0, description="Pixels that all ranks denoise, over those of the image"
    )


class Gate(Record):
    """Whether ranks together compute what one computes alone; shares of the largest value."""

    gradient: Annotated[float | None, Metric(ranks="first", trials="max")] = Field(
        None, description="Largest deviation of the gradient; null where it was not compared"
    )
    denoiser_interior: Annotated[float | None, Metric("interior", ranks="first", trials="max")] = (
        Field(
            None,
            description="Largest deviation of the denoised image where a tile holds all that the "
            "network looks at; null where there is no such pixel",
        )
    )
    denoiser_border: Annotated[float | None, Metric("border", ranks="first", trials="max")] = Field(
        None, description="The same of all other pixels, which tiles do change"
    )
    interior_px: Annotated[Whole, Metric(ranks="first", trials="min")] = Field(
        0, ge=0, description="Pixels of the interior"
    )
    why_not: Annotated[str, Metric(ranks="first", trials="first")] = Field(
        "", description="Why something was not compared, in words"
    )


class Reconstruction(Sample):
    """What reconstructing one image together with others gave one rank."""

    kept_as: ClassVar[str] = "reconstruction"

    problem: str = Field(description="Which problem: colour_deblur, tomography_2d, tomography_3d")
    shape: Annotated[tuple[int, ...], TOLD] = Field(
        description="Channels and lengths of the image, in pixels"
    )
    setup_s: Annotated[Seconds, Metric(ranks="most", trials="median")] = Field(
        description="Building image, physics and denoiser, before any iteration"
    )
    operators: Annotated[Whole, TOLD] = Field(ge=1, description="Parts of all ranks")
    operators_here: Whole = Field(ge=0, description="Parts of this rank")
    tiling: Annotated[Tiling, Metric("")]
    memory_peak_bytes: Annotated[Bytes | None, Metric(ranks="most", trials="most")] = Field(
        None, description="Most that the rank held: of the GPU's memory, or of the node's"
    )
    memory_total_bytes: Annotated[Bytes | None, Metric(ranks="least", trials="min")] = Field(
        None, description="Memory of the GPU, or what the rank may have of the node's"
    )
    pss_bytes: Annotated[Bytes | None, Metric(ranks="node", trials="most")] = Field(
        None, description="Memory after the iterations, each shared page counted once (PSS)"
    )
    psnr_db: Annotated[float | None, QUALITY] = Field(
        None, description="Peak signal-to-noise ratio of the result; from the first rank alone"
    )
    psnr_interior_db: Annotated[float | None, QUALITY] = Field(
        None, description="The same of pixels whose tile holds all that the network looks at"
    )
    psnr_border_db: Annotated[float | None, QUALITY] = Field(
        None, description="The same of all other pixels"
    )
    gate: Gate | None = Field(None, description="From the first of several ranks")
    weights: Annotated[str, TOLD] = Field(
        description="Of the denoiser: random, or the file and its fingerprint"
    )
    timing_only: Annotated[bool, TOLD] = Field(
        description="Whether the weights are random, so that the image means nothing"
    )
    backend: Annotated[str, TOLD] = Field(
        "", description="What carried tensors: gloo, nccl; nothing for one rank"
    )
    device: Annotated[str, Metric("device_name", ranks="names", trials="names")] = Field(
        description="Name of what computed"
    )
    iterations: tuple[Iteration, ...] = Field(description="Those that were timed, after warm-up")
    objective: float = Field(
        description="Half the squared distance of the result from the measurements"
    )
    objectives_s: tuple[Seconds, ...] = Field(
        description="What its value took, as often as there were iterations, after the last"
    )

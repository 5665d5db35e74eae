"""The kernels stage: what the processors and GPUs of a machine compute in a second."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from pyscale_stages.contract import Device, Method, Resources, Stage, StageParams, Surroundings
from pyscale_stages.declaration import Image
from pyscale_stages.libraries import OF_EXTRA, SCIPY
from pyscale_stages.registry import later, place
from pyscale_stages.timing import TIMINGS, Timing

LOWER = "lower particles or particle_px"
"""What makes the files of a test smaller, for sentences on room."""
NOT_APPLICABLE = "not applicable: "
"""How a sentence begins that says why a test has no meaning on a device."""

Assignment = Literal["max", "marg"]
Kernel = Literal["linear10", "linear20"]
"""The names in CryoSPARC's benchmark of trilinear and tricubic."""
Symmetry = Literal["C1", "D7"]


class KernelParams(StageParams):
    """What is computed; the sizes keep two cores busy."""

    tests: tuple[str, ...] = Field(
        (), description="Names of tests, or of their families, to run; none runs all"
    )
    repeats: int = Field(
        4, ge=1, description="Repeats of each test; the first includes one-time costs"
    )
    gpus: int | None = Field(
        None, ge=1, description="GPUs to test, one after another; None uses all that torch sees"
    )
    cache_folder: Path | None = Field(
        None,
        description="Folder of a cache device, as a local SSD, from which the tests disk_* read "
        "particles; None takes the node's scratch folder (TMPDIR) where that lies on a disk with "
        "another filesystem, else the measured folder",
    )
    map_px: int = Field(
        96, ge=32, multiple_of=2, description="Edge of the half maps of FSC and filter choice"
    )
    cutoffs: int = Field(10, ge=2, description="Low-pass filters to choose from")
    micrographs: int = Field(2, ge=1, description="Micrographs to pick from")
    micrograph_px: int = Field(512, ge=128, description="Edge of a micrograph")
    template_px: int = Field(33, ge=17, description="Edge of a template, an odd number")
    template_angles: int = Field(24, ge=4, description="In-plane rotations of each template")
    template_batch: int = Field(8, ge=1, description="Templates correlated in one call")
    particle_px: int = Field(32, ge=16, multiple_of=2, description="Edge of a particle image")
    particles: int = Field(48, ge=2, description="Particle images of a reconstruction")
    particle_batch: int = Field(16, ge=1, description="Particle images read and computed at once")
    poses: int = Field(64, ge=8, description="Orientations compared with each particle")
    marginal_poses: int = Field(
        4, ge=2, description="Most likely poses used to insert a particle when marginalising"
    )
    transfer_max_bytes: int = Field(
        1 << 28, ge=1 << 12, description="Largest transfer; the smallest is 4 KiB"
    )
    allocation_bytes: int = Field(1 << 26, ge=1 << 12, description="Memory allocated and freed")

    @property
    def particle_bytes(self) -> int:
        """Size of all particle images, in single precision."""
        return self.particles * self.particle_px**2 * 4

    @model_validator(mode="after")
    def _sizes_fit(self) -> KernelParams:
        if self.template_px % 2 == 0:
            raise ValueError("template_px must be odd, so that a template has a middle pixel")
        if self.micrograph_px < 4 * self.template_px:
            raise ValueError("micrograph_px must be at least 4 times template_px")
        if self.marginal_poses > self.poses:
            raise ValueError("marginal_poses must not be more than poses")
        return self


@dataclass(frozen=True)
class Combination:
    """One of the combinations of CryoSPARC's benchmark, as its name spells them."""

    place: Literal["disk", "memory"]
    threads: Literal["single", "multi"]
    kernel: Kernel
    assignment: Assignment
    symmetry: Symmetry

    @property
    def name(self) -> str:
        """Like disk_single_linear10_max_C1."""
        return "_".join((self.place, self.threads, self.kernel, self.assignment, self.symmetry))


COMBINATIONS = (
    Combination("disk", "single", "linear10", "max", "C1"),
    Combination("disk", "single", "linear20", "max", "C1"),
    Combination("disk", "multi", "linear10", "max", "C1"),
    Combination("disk", "multi", "linear20", "max", "C1"),
    Combination("memory", "single", "linear10", "max", "C1"),
    Combination("memory", "single", "linear10", "marg", "C1"),
    Combination("memory", "single", "linear10", "max", "D7"),
    Combination("memory", "single", "linear20", "max", "C1"),
    Combination("memory", "single", "linear20", "marg", "C1"),
    Combination("memory", "multi", "linear10", "max", "C1"),
    Combination("memory", "multi", "linear10", "marg", "C1"),
    Combination("memory", "multi", "linear10", "max", "D7"),
    Combination("memory", "multi", "linear20", "max", "C1"),
    Combination("memory", "multi", "linear20", "marg", "C1"),
)
"""Tests A to N of CryoSPARC's benchmark."""


def method(_params: KernelParams, _device: Device) -> Method:
    """Kernels of torch."""
    return Method(
        "torch kernels",
        versioned="torch",
        packages=("torch", "scipy"),
        cites=("paszke2019",),
    )


def surroundings(params: KernelParams) -> Surroundings:
    """The cache folder, which an image must be given to write into."""
    cache = params.cache_folder
    return Surroundings(written=() if cache is None else (cache.expanduser(),))


STAGE = Stage(
    name="kernels",
    summary="Compute kernels of image processing: correlation, picking, projection",
    params=KernelParams,
    inputs=(place("on the storage that particles are read from"),),
    output=TIMINGS,
    packages=("torch", "scipy"),
    samples=(Timing,),
    determinism=(
        "The same seed gives the same inputs everywhere. Results are single precision: a test's "
        "checksums agree within 0.001, on one device and between devices; times differ"
    ),
    run=later("kernels.run", "run"),
    merge=later("machine.timingtable", "merge"),
    check=later("machine.timingtable", "check"),
    method=method,
    resources=Resources(cpus=2, memory_gib=4.0, devices=("cpu", "cuda")),
    extra="kernels",
    image=Image((*OF_EXTRA["kernels"], SCIPY), cuda=()),
    modules=("torch", "scipy.ndimage", "polars"),
    folders=("machine",),
    room_bytes=lambda params: params.particle_bytes,
    surroundings=surroundings,
    work="each",
)

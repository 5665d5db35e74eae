"""The loader stage: how many patches a second storage, loader processes and ranks deliver."""

from __future__ import annotations

import os
import re
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator

from pyscale_stages.contract import (
    Device,
    Method,
    Resources,
    Slot,
    Stage,
    StageParams,
    Surroundings,
)
from pyscale_stages.declaration import Image, Needs
from pyscale_stages.libraries import OF_EXTRA, ZARR
from pyscale_stages.loading import Loading
from pyscale_stages.registry import later

if TYPE_CHECKING:
    from pyscale_stages.trying import Trying


LOADING = "loading.parquet"
"""The table of batches that a rank leaves."""
SHIPPED = "wsistream"
"""The factory that is known by name."""
FOLDER_VARIABLE = "PYSCALE_FACTORY_FOLDER"
"""Names the folder that the module of a factory lies in."""

Opening = Literal["excluded", "published"]
"""How the clock starts: after what lay ready in queues, or as published."""


class LoaderParams(StageParams):
    """How patches are loaded, and how that is timed."""

    factory: str = Field(
        SHIPPED,
        description="Maker of the dataset: wsistream, or package.module:name of a function of "
        "slide paths, pool_size, patches_per_slide, patches_per_visit and seed",
    )
    reader: Literal["auto", "tifffile", "openslide", "tiffslide", "zarr"] = Field(
        "auto", description="Reader of slides for the shipped factory; auto chooses by the file"
    )
    num_workers: int = Field(
        2, ge=0, description="Loader processes of each rank; 0 loads in the rank itself"
    )
    pool_size: int = Field(8, ge=1, description="Slides open at once")
    patches_per_slide: int = Field(
        100, ge=1, description="Patches of a slide before another replaces it in the pool"
    )
    patches_per_visit: int = Field(
        1, ge=1, description="Patches of a slide before the pool's next slide"
    )
    batch_size: int = Field(64, ge=1, description="Patches in a batch")
    prefetch_factor: int | None = Field(
        2, ge=1, description="Batches that each loader process keeps ready; None is torch's default"
    )
    persistent_workers: bool = Field(
        True, description="Keep loader processes where the dataset ends and is begun again"
    )
    pin_memory: bool = Field(
        False, description="Copy batches to pinned memory, which a GPU reads directly"
    )
    patch_px: int = Field(256, ge=8, description="Height and width of a patch, in pixels")
    mpp: float | None = Field(
        None,
        gt=0,
        description="Micrometres per pixel of patches; None uses the slide's finest level",
    )
    tissue: bool = Field(True, description="Take patches only from tissue, found by Otsu's method")
    opening: Opening = Field(
        "excluded",
        description="Start of timing: 'excluded' leaves out batches that may lie ready in "
        "queues; 'published' times at once, though queues may be full",
    )
    cold_windows: bool = Field(
        False,
        description="Evict the slides from the page cache before each timed window, so that it "
        "reads from storage instead of what warm-up has cached",
    )
    warmup_batches: int = Field(
        10, ge=1, description="Batches before timing; the first waits for loader processes to start"
    )
    batches: int = Field(
        50,
        ge=2,
        description="Timed batches of each rank, rounded up to whole rounds of its loader "
        "processes (not for published)",
    )
    checksum_batches: int = Field(
        1, ge=0, description="Batches whose places and pixels are summed up after all timing"
    )
    start_method: Literal["spawn", "fork", "forkserver"] | None = Field(
        "fork", description="Start method of loader processes; None is torch's default"
    )
    to_device: bool = Field(False, description="Copy each batch to the device, and time the copy")
    consumes_per_s: float | None = Field(
        None, gt=0, description="Patches per second that training takes on each rank, if known"
    )

    @field_validator("factory")
    @classmethod
    def _names_a_factory(cls, value: str) -> str:
        if value != SHIPPED and not re.fullmatch(r"[\w.]+:\w+", value):
            raise ValueError(
                f"unknown factory {value!r}: use {SHIPPED}, or your own function as "
                "package.module:name"
            )
        return value


_READERS = {
    "tifffile": ("tifffile", ("tifffile",)),
    "openslide": ("openslide-python", ("goode2013",)),
    "tiffslide": ("tiffslide", ()),
    "zarr": ("zarr", ("zarr",)),
}
"""Distribution and citations of each reader that is a library's."""


def method(params: LoaderParams, _device: Device) -> Method:
    """DataLoader of torch over the factory's data set, and the reader."""
    package, cites = _READERS.get(params.reader, ("", ()))
    own = params.factory != SHIPPED
    readers = [] if own or params.reader == "auto" else [f"{params.reader} reader"]
    return Method(
        "torch DataLoader",
        ", ".join([f"data set of {params.factory}", *readers]),
        versioned="torch",
        packages=(
            "torch",
            *filter(None, ["" if own else "wsistream", package]),
        ),
        cites=("paszke2019", *cites),
    )


def folder_of_factory(params: LoaderParams) -> Surroundings:
    """Name the folder of PYTHONPATH that holds a user's own factory, where one does."""
    module, colon, _ = params.factory.partition(":")
    if not colon:
        return Surroundings()
    top = module.partition(".")[0]
    for folder in filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        if PathFinder.find_spec(top, [folder]) is not None:
            path = Path(folder).absolute()
            return Surroundings(files=(path,), variables={FOLDER_VARIABLE: str(path)})
    return Surroundings()


def try_out(trying: Trying) -> None:
    """Find the factory."""
    from pyscale_stages.loader.factories import factory_of

    factory = trying.params.factory
    trying.step(f"find the factory {factory}")
    factory_of(trying.params)
    trying.cuda_architecture()
    trying.ok("works", f"datasets are made by {factory}")


STAGE = Stage(
    name="loader",
    summary="Patches of slides per second from storage and loader processes to training",
    params=LoaderParams,
    inputs=(Slot("slides", "folder of whole-slide images, one of them, or an OME-Zarr image"),),
    output=LOADING,
    packages=("torch", "openslide-python", "openslide-bin", "tiffslide", "zarr", "wsistream"),
    samples=(Loading,),
    determinism=(
        "The same seed, parameters and ranks give the same patches if the dataset keeps to its "
        "seed, which the checksum of the first ones proves; times differ"
    ),
    run=later("loader.run", "run"),
    merge=later("loader.table", "merge"),
    check=later("loader.table", "check"),
    method=method,
    resources=Resources(cpus=2, memory_gib=8.0, devices=("cpu", "cuda")),
    extra="loader",
    image=Image((*OF_EXTRA["loader"], ZARR), cuda=()),
    modules=("torch", "cv2", "openslide", "tiffslide", "wsistream", "zarr", "polars"),
    folders=("ranks", "slides"),
    surroundings=folder_of_factory,
    work="own",
    data=("slides",),
    needs=Needs(deciding=("factory",), try_out=try_out),
)

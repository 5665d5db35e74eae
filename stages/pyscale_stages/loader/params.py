"""Parameters of the loader stage."""

from __future__ import annotations

import os
import re
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from pyscale_stages.contract import Device, Method, StageParams, Surroundings

LOADING = "loading.parquet"
"""The table of batches that a rank leaves."""
SHIPPED = "wsistream"
"""The factory that is known by name."""
FOLDER_VARIABLE = "PYSCALE_FACTORY_FOLDER"
"""Names the folder that the module of a factory lies in."""

Opening = Literal["excluded", "empty", "published"]
"""How the clock starts: after what lay ready in queues, with empty queues, or as published."""


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
        "queues; 'empty' starts a new pass over the dataset with empty queues, which "
        "opens its slides again; 'published' times at once, though queues may be full",
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
    consumer: bool = Field(
        False, description="Measure how many patches per second a small model takes on the device"
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

    @model_validator(mode="after")
    def _one_consumption(self) -> LoaderParams:
        if self.consumer and self.consumes_per_s is not None:
            raise ValueError(
                "consumes_per_s and consumer both set the rate of training: give only one of them"
            )
        return self


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

"""Parameters of the loader stage."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator, model_validator

from pyscale_stages.contract import StageParams

SHIPPED = ("pyscale", "wsistream")
"""Factories that are known by name."""

Opening = Literal["excluded", "empty", "published"]
"""How the clock starts: after what lay ready in queues, with empty queues, or as published."""


class LoaderParams(StageParams):
    """How patches are loaded, and how that is timed."""

    factory: str = Field(
        "pyscale",
        description="What makes the data set: pyscale, wsistream, or package.module:name of a "
        "function of slide paths, pool_size, patches_per_slide, patches_per_visit and seed",
    )
    reader: Literal["auto", "tifffile", "openslide", "tiffslide", "zarr", "stack"] = Field(
        "auto", description="What reads slides for the shipped factories; auto goes by the file"
    )
    num_workers: int = Field(2, ge=0, description="Loader processes of each rank; 0 has none")
    pool_size: int = Field(8, ge=1, description="Slides that are open at once")
    patches_per_slide: int = Field(
        100, ge=1, description="Patches of a slide before another takes its place in the pool"
    )
    patches_per_visit: int = Field(
        1, ge=1, description="Patches of a slide before the next slide of the pool has its turn"
    )
    batch_size: int = Field(64, ge=1, description="Patches in a batch")
    prefetch_factor: int = Field(
        2, ge=1, description="Batches that each loader process keeps ready"
    )
    pin_memory: bool = Field(False, description="Copy batches to memory that a GPU reads directly")
    patch_px: int = Field(256, ge=8, description="Height and width of a patch, in pixels")
    mpp: float | None = Field(
        None, gt=0, description="Micrometres per pixel of patches; None is the slide's finest level"
    )
    tissue: bool = Field(True, description="Take patches from tissue alone, found by Otsu's method")
    opening: Opening = Field(
        "excluded",
        description="What the timed batches leave out: excluded those that may lie ready in "
        "queues, empty none as a new pass over the data set begins with empty queues and opens "
        "its slides again, published none though the queues may begin full",
    )
    cold_windows: bool = Field(
        False,
        description="Evict the slides from the page cache before each timed window, so that it "
        "reads from storage what warm-up has read already",
    )
    warmup_batches: int = Field(
        10,
        ge=1,
        description="Batches before any is timed; the first waits for loader processes to start",
    )
    batches: int = Field(
        50,
        ge=2,
        description="Batches that are timed, of each rank: made up to whole rounds of its loader "
        "processes, but for published",
    )
    checksum_batches: int = Field(
        1, ge=0, description="Batches whose places and pixels are summed up, after all timing"
    )
    start_method: Literal["spawn", "fork", "forkserver"] = Field(
        "fork", description="How loader processes are started; fork is torch's own way on Linux"
    )
    to_device: bool = Field(False, description="Copy each batch to the device, and time the copy")
    consumes_per_s: float | None = Field(
        None, gt=0, description="Patches that training takes in a second on each rank, where known"
    )
    consumer: bool = Field(
        False, description="Measure how many patches a small model takes in a second on the device"
    )

    @field_validator("factory")
    @classmethod
    def _names_a_factory(cls, value: str) -> str:
        if value not in SHIPPED and not re.fullmatch(r"[\w.]+:\w+", value):
            raise ValueError(
                f"there is no factory {value!r}: take {' or '.join(SHIPPED)}, or name a function "
                "of your own as package.module:name"
            )
        return value

    @model_validator(mode="after")
    def _one_consumption(self) -> LoaderParams:
        if self.consumer and self.consumes_per_s is not None:
            raise ValueError(
                "consumes_per_s says what training takes and consumer measures it: give one of them"
            )
        return self

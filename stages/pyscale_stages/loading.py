"""Results of loading patches on one rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from pyscale_stages.record import (
    SHARES,
    Amount,
    AtLeastOne,
    Bytes,
    Derived,
    Metric,
    Record,
    Sample,
    Seconds,
    Whole,
)
from pyscale_stages.residency import CacheState

WAITS = {
    "batches": "count",
    **{f"wait_p{share}_s": f"p{share}" for share in SHARES},
    "wait_max_s": "max",
}
STEPS = {f"step_p{share}_s": f"p{share}" for share in SHARES}


class BatchWindow(Record):
    """Batches that one rank took one after another, timed on its own clock.

    Free of the other ranks it takes each as soon as it can; in step with them it takes the next
    only when all ranks have theirs, as training does.
    """

    wall_s: Seconds = Field(gt=0, description="From the first wait to the end of the last step")
    waits_s: Annotated[tuple[Seconds, ...], Metric(samples=WAITS)] = Field(
        description="How long each batch was waited for"
    )
    steps_s: Annotated[tuple[Seconds, ...], Metric(samples=STEPS)] = Field(
        (), description="Each wait, copy and meeting of the ranks; none where it went free of them"
    )
    copies_s: Annotated[tuple[Seconds, ...], Metric(samples={"copy_mean_s": "mean"})] = Field(
        (), description="Each copy from the host to the device; none where none was asked for"
    )
    patches: Whole = Field(ge=1, description="Patches in these batches")
    cache: CacheState | None = Field(
        None,
        description="Page cache of the slides as the window was opened, where they were evicted "
        "for it; None where nothing was",
    )
    prefetched_batches: Annotated[Whole, Metric("prefetched")] = Field(
        0, ge=0, description="Batches taken before the clock started, as they lay ready in queues"
    )
    read_bytes: Bytes | None = Field(
        None, description="Asked of the kernel meanwhile by the rank and its loader processes"
    )
    storage_read_bytes: Bytes | None = Field(
        None, description="Fetched from block devices meanwhile by the same processes"
    )
    cpu_s: Seconds | None = Field(
        None, description="User and system time of the same processes meanwhile"
    )


class Diversity(Record):
    """How different the patches are that a model would be given, as far as they say their place."""

    slides_per_batch: Annotated[AtLeastOne, Metric(ranks="sum", trials="median")] = Field(
        description="Mean number of slides in a batch"
    )
    distance_px: Annotated[Amount | None, Metric(ranks="mean", trials="median")] = Field(
        None,
        description="Mean distance between patches of one slide in a batch, in pixels of its "
        "largest level; None where no batch has two of one slide",
    )
    effective_slides: Annotated[AtLeastOne, Metric(ranks="apart", trials="rate")] = Field(
        description="Slides of equal share that would be as diverse, in runs of 1,000 patches or "
        "of all where there are fewer: the inverse of Simpson's index",
    )
    patches: Annotated[Whole, Metric("diversity_patches", ranks="sum", trials="median")] = Field(
        ge=1, description="Patches that diversity is known from"
    )


class Loading(Sample):
    """What loading patches gave one rank."""

    kept_as: ClassVar[str] = "loading"

    derived: ClassVar[Mapping[str, Derived]] = {
        # One rank is in step with nobody.
        "patches_per_s": Derived(
            *("together_patches free_patches", "Patches of all ranks in step with each other"),
            *("step", "rate"),
            per="together_wall_s free_wall_s",
            interval=True,
        ),
        "inferred_per_s": Derived(
            *("free_patches", "N times the rate of the slowest rank", "slowest each", "rate"),
            per="free_wall_s",
            interval=True,
        ),
        "aggregate_per_s": Derived(
            *("free_patches", "Sum of the rates of all ranks", "rates", "rate"),
            per="free_wall_s",
            interval=True,
        ),
        "slowest_per_s": Derived(
            *("free_patches", "Rate of the slowest rank", "slowest", "rate"), per="free_wall_s"
        ),
        **{
            f"wait_p{share}_s": Derived(
                f"free_wait_p{share}_s",
                f"Wait for a batch that {share} % do not exceed, where no rank waits for another; "
                "of the worst rank",
                *("most", "median"),
                shown=f"p{share} (ms)",
            )
            for share in SHARES
        },
        "wait_max_s": Derived("free_wait_max_s", "Longest wait for a batch", "most", "max"),
        **{
            f"step_p{share}_s": Derived(
                f"together_step_p{share}_s",
                f"Of a batch with the wait for the other ranks, p{share}",
                *("most", "median"),
                shown=f"Step p{share} (ms)" if share == SHARES[0] else "",
            )
            for share in SHARES
        },
        "pss_bytes": Derived(
            *("pss_bytes", "Of the fullest node, each shared page counted once (PSS)"),
            *("node", "most"),
            shown="Memory (GiB)",
        ),
        "rss_bytes": Derived(
            "rss_bytes",
            "Sum of the peaks of its processes, as the kernel keeps them (VmHWM): shared pages "
            "count in each",
            *("node", "most"),
            shown="Peak RSS (GiB)",
        ),
        "read_bytes_per_patch": Derived(
            *("free_read_bytes", "Bytes asked of the kernel by all processes", "sum", "median"),
            per="free_patches",
            shown="Read (kB/patch)",
        ),
        "storage_read_bytes_per_patch": Derived(
            "free_storage_read_bytes",
            "Part from block devices, by the kernel's count, without network filesystems",
            *("sum", "median"),
            per="free_patches",
            shown="From storage (kB/patch)",
        ),
        "storage_bytes_per_s": Derived(
            *("free_storage_read_bytes", "The same per second, of all ranks", "rates", "median"),
            per="free_wall_s",
            shown="Storage (MB/s)",
        ),
        "cpu_s_per_patch": Derived(
            *("free_cpu_s", "Processor time of all processes", "sum", "median"),
            per="free_patches",
            shown="CPU (ms/patch)",
        ),
        # In step with the others, where there are any.
        "copy_s_per_batch": Derived(
            "together_copy_mean_s free_copy_mean_s",
            "Copy from memory of the host to the device",
            *("most", "median"),
            shown="Copy (ms/batch)",
        ),
    }

    factory: str = Field(description="What made the data set: its dotted path")
    slides: Whole = Field(ge=1, description="Slides of this rank")
    cores: Whole = Field(ge=1, description="Cores that its processes may keep busy")
    batch_size: Whole = Field(ge=1, description="Patches in a batch")
    patch_bytes: Whole = Field(ge=1, description="Pixels of one patch as they were delivered")
    free: BatchWindow = Field(description="Taken without waiting for other ranks")
    together: BatchWindow | None = Field(
        None, description="Taken in step with the other ranks; None where there is one rank"
    )
    pss_bytes: Bytes | None = Field(
        None,
        description="Memory of the rank and its loader processes, shared pages in parts: the "
        "larger of two moments, in and after the time",
    )
    rss_bytes: Bytes | None = Field(
        None,
        description="Sum of the peaks of resident memory of the same processes since each began, "
        "as Linux keeps them (VmHWM): shared pages count in each",
    )
    threads: Annotated[str, Metric(ranks="first", trials="first")] = Field(
        "", description="Threads of libraries in each process, asked for where they are timed"
    )
    diversity: Annotated[Diversity | None, Metric("")] = Field(
        None, description="None where patches say no place"
    )
    checksum: str | None = Field(
        None, description="Of places and pixels of the first patches, whatever their order"
    )
    checksum_patches: Whole = Field(0, ge=0, description="Patches in the checksum")
    consumed_per_s: Annotated[Amount | None, Metric(ranks="sum", trials="rate")] = Field(
        None, description="Patches that training takes in a second on this rank, as the user said"
    )

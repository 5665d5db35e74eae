"""Results of one test of a machine: a part of the stage contract."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pyscale_stages.metric import Metric
from pyscale_stages.record import Amount, Finite, Record, Seconds
from pyscale_stages.residency import CacheState

TIMINGS = "timings.parquet"
"""File of the table of timings that a stage leaves."""
Bottleneck = Literal[
    "cpu", "memory", "gpu", "gpu_memory", "pcie", "allocation", "storage", "metadata"
]
"""Which part of a machine a test's speed most likely depends on."""


class Timing(Record):
    """One repeat of one test of what a machine can do, or of a step inside it."""

    device: str | None = Field(None, description="What computed, by name; None is the processor")
    test: str = Field(description="Name of the test, like random_read or fsc_spherical")
    step: str | None = Field(None, description="Step inside the test; None is the whole of it")
    repeat: int = Field(ge=0, description="Which repeat, from 0")
    workers: Annotated[int, Metric("at_once")] = Field(
        1, ge=1, description="Readers or threads that did it at once"
    )
    wall_s: Seconds | None = Field(description="Its length; None where it cannot run here")
    amount: Amount | None = Field(None, description="How much was done in it, in `unit`")
    unit: str | None = Field(None, description="Like B, file, flop, image")
    bottleneck: Bottleneck | None = Field(None, description="What its speed depends on most")
    cache: CacheState | Literal["direct"] | None = Field(
        None, description="Page cache of what was read; direct where it was passed by"
    )
    why_not: str = Field("", description="Why it cannot run here, in words; then there is no time")
    details: dict[str, Finite] = Field(
        default_factory=dict, description="More of it, units in the names, like latency_p99_s"
    )

"""Timed calls of a computation, of its parts, and of the tests of a machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pyscale_stages.record import Amount, Count, Finite, Metric, Sample, Seconds, Whole
from pyscale_stages.residency import CacheState

TIMINGS = "timings.parquet"
"""File of the table of timings that a stage leaves."""
Bottleneck = Literal[
    "cpu", "memory", "gpu", "gpu_memory", "pcie", "allocation", "storage", "metadata"
]
"""Which part of a machine a test's speed most likely depends on."""


class NestedTimes:
    """Seconds by part: each moment counts once, for the innermost part that is open.

    A part that begins inside another pauses it, at one reading of the clock that ends the one and
    begins the other, so that nothing falls between them. A GPU is given work and answers at once:
    it is waited for before each reading.

    `wait`: returns when the device has done all that it was given.
    """

    def __init__(self, parts: Iterable[str], wait: Callable[[], None]) -> None:
        self.wait = wait
        self.seconds = dict.fromkeys(parts, 0.0)
        self._open: list[str] = []
        self._since = 0.0

    @property
    def current(self) -> str | None:
        """The part that is being timed; None between them."""
        return self._open[-1] if self._open else None

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Add a block to a part, without what is timed as another one in it."""
        self._turn()
        self._open.append(part)
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def go_on_as(self, part: str) -> None:
        """Count the rest of the innermost open part as time of another."""
        if self._open:
            self._turn()
            self._open[-1] = part

    def _turn(self) -> None:
        """Give the innermost open part what has passed since the last reading."""
        self.wait()
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now


class Timing(Sample):
    """One repeat of one test of what a machine can do, or of a step inside it."""

    kept_as: ClassVar[str] = "timings"

    device: str | None = Field(None, description="What computed, by name; None is the processor")
    test: str = Field(description="Name of the test, like random_read or fsc_spherical")
    step: str | None = Field(None, description="Step inside the test; None is the whole of it")
    repeat: Whole = Field(ge=0, description="Which repeat, from 0")
    workers: Annotated[Whole, Metric("at_once")] = Field(
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


class Call(Sample):
    """One call of the computation that a stage is about, timed from inside its process.

    The first call of a process also pays for what is done once: kernels are chosen, memory is
    allocated. `wall_s` ends when the device has done its work.
    """

    kept_as: ClassVar[str] = "calls"

    frame: Whole = Field(ge=0, description="Frame of the movie that it computed on")
    index: Whole = Field(ge=0, description="Which call of the process it was, from 0")
    shape_yx: tuple[Whole, Whole] = Field(description="Height and width in pixels of its input")
    build_s: Seconds | None = Field(
        None, description="Building the model for this call; None where it was built before"
    )
    wall_s: Seconds = Field(description="The call alone, without building the model")
    parts: dict[str, Seconds] = Field(
        default_factory=dict, description="Seconds of wall_s by part, none counted twice"
    )
    objects: Count = Field(0, description="Cells, pairs or links that it found")
    diameter_px: Amount | None = Field(
        None, description="Diameter of cells that was estimated for it; None where none was"
    )

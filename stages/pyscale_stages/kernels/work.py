"""A test: its entry in the catalog, its work, its clock and the judgement of its result."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import torch

from pyscale_stages.kernels.stage import NOT_APPLICABLE, KernelParams
from pyscale_stages.residency import CacheState
from pyscale_stages.timing import Bottleneck

Result = TypeVar("Result")
Family = Literal["fsc", "filters", "picking", "engine", "transfers", "allocation"]


@dataclass(frozen=True)
class Bench:
    """Where and on what a test runs."""

    device: torch.device
    params: KernelParams
    seed: int
    scratch: Path
    """Folder for files of this task alone; it is removed with all that it holds."""

    def rng(self, test: str) -> np.random.Generator:
        """Generator of a test's input: the same on every device, another for every test."""
        # Python's own hash of a text differs between processes.
        return np.random.default_rng([self.seed, zlib.crc32(test.encode())])


@dataclass(frozen=True)
class Judgement:
    """Whether a result is right: how far it is from what must come out."""

    checksum: float
    """A number that the same computation gives anywhere, but for the order of additions."""
    error: float
    """Distance from a known property of the result."""
    tolerance: float
    more: Mapping[str, float] = field(default_factory=dict)

    @property
    def right(self) -> bool:
        """Whether the property holds; it does not where a number is missing."""
        return self.error <= self.tolerance

    @property
    def details(self) -> dict[str, float]:
        """The judgement as details of a timing; JSON knows finite numbers only."""
        said = {"checksum": self.checksum, "error": self.error, "tolerance": self.tolerance}
        return {name: value for name, value in {**said, **self.more}.items() if isfinite(value)}


@dataclass(frozen=True)
class Work(Generic[Result]):
    """A test that is ready to be timed: its input is made."""

    once: Callable[[StepClock], Result]
    judge: Callable[[Result], Judgement]
    before: Callable[[], CacheState | None] = lambda: None
    """Called before each repeat, outside its time; says what state files, if any, then are in."""


_STEPS_OF: Mapping[Bottleneck, tuple[str, ...]] = {
    "pcie": (
        *("put_map_on_device", "put_micrograph_on_device", "put_particles_on_device"),
        "get_result",
    ),
    "gpu_memory": ("apply_mask", "shells", "filter", "peaks", "project", "insert"),
    "gpu": (
        *("fft", "inverse_fft", "randomise_phases", "cross_validate", "rotate_templates"),
        *("normalise", "correlate", "compare", "assign"),
    ),
    "cpu": ("choose",),
}
STEPS = {step: bottleneck for bottleneck, steps in _STEPS_OF.items() for step in steps}
"""What each step depends on where a GPU computes; one that is not named is like its whole test."""


@dataclass(frozen=True)
class Kernel:
    """One entry of the catalog."""

    name: str
    family: Family
    bottleneck: Bottleneck
    """What its speed depends on most where a GPU computes."""
    unit: str
    amount: Callable[[KernelParams], float]
    """How much one run of it does, in `unit`."""
    prepare: Callable[[Bench], Work[Any]]
    steps: Mapping[str, Bottleneck] = field(default_factory=lambda: STEPS)
    """What each of its steps depends on."""
    workers: int = 1


_ON_A_PROCESSOR: Mapping[Bottleneck, Bottleneck] = {
    "gpu": "cpu",
    "gpu_memory": "memory",
    "pcie": "memory",
}


def bottleneck_on(device: str, on_a_gpu: Bottleneck) -> Bottleneck:
    """What takes the part of the GPU where a processor computes."""
    return _ON_A_PROCESSOR.get(on_a_gpu, on_a_gpu) if device == "cpu" else on_a_gpu


@dataclass
class Step:
    """What one step of a test took, over all its calls in one repeat."""

    wall_s: float = 0.0
    calls: int = 0
    amount: float | None = None
    why_not: str = ""


@dataclass
class StepClock:
    """The clock of one repeat of one test.

    A GPU answers at once, so it is waited for before each reading; a test's whole contains the
    waits.
    """

    wait: Callable[[], None]
    """Returns when the device has done all that it was given."""
    own_memory: bool
    """Whether the device has memory of its own, which must be filled by transfers."""
    keeps_steps: bool = True
    steps: dict[str, Step] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str, *, amount: float | None = None) -> Iterator[None]:
        """Add the block to the time of a step; `amount`: bytes that it reads or moves."""
        if not self.keeps_steps:
            yield
            return
        self.wait()
        start = time.perf_counter()
        yield
        self.wait()
        step = self.steps.setdefault(name, Step())
        step.wall_s += time.perf_counter() - start
        step.calls += 1
        if amount is not None:
            step.amount = (step.amount or 0.0) + amount

    @contextmanager
    def transfer(self, name: str, moved_bytes: float) -> Iterator[None]:
        """Time a copy between host and device, which a processor does not have to make."""
        if self.own_memory:
            with self.step(name, amount=moved_bytes):
                yield
            return
        yield
        if self.keeps_steps:
            self.steps[name] = Step(why_not=NOTHING_TO_TRANSFER)


NOTHING_TO_TRANSFER = (
    f"{NOT_APPLICABLE}a processor computes in host memory, so nothing is transferred"
)

"""Times a test and the steps inside it, each from and to a moment when the device is idle."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Step:
    """What one step of a test took, over all its calls in one repeat."""

    wall_s: float = 0.0
    calls: int = 0
    amount: float | None = None
    unit: str | None = None
    why_not: str = ""


@dataclass
class StepClock:
    """The clock of one repeat of one test.

    A GPU is given work and answers at once, so that it is waited for before each reading. The
    whole of a test contains the waits between its steps.
    """

    wait: Callable[[], None]
    """Returns when the device has done all that it was given."""
    own_memory: bool
    """Whether the device has memory of its own, which must be filled by transfers."""
    keeps_steps: bool = True
    steps: dict[str, Step] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str, *, amount: float | None = None, unit: str = "B") -> Iterator[None]:
        """Add the block to the time of a step.

        `amount`: how much is done in the block, in `unit`.
        """
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
            step.amount, step.unit = (step.amount or 0.0) + amount, unit

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

    def without_steps(self) -> StepClock:
        """The same clock for work whose steps overlap, so that only the whole has a time."""
        return StepClock(self.wait, self.own_memory, keeps_steps=False)


NOTHING_TO_TRANSFER = (
    "not applicable: a processor computes in host memory, so nothing is transferred"
)

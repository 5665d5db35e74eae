"""Claim: at 500 patches a second, timing and recording a batch costs less than 1 % of it.

The same batches are taken by the stage's own window and by a bare loop, in this process: loader
processes would work on while a batch is recorded, and hide what that costs. First the data set
keeps the pace of 500 patches a second; then it has every patch ready, so that the difference of
the two loops is no longer lost in the noise of a machine, and is put against a batch's time.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset

from paired import compare
from pyscale_stages.loader.batches import Batches
from pyscale_stages.loader.stage import LoaderParams
from pyscale_stages.loader.windows import time_window

PATCHES_PER_S = 500
BATCH_SIZE = 64
BATCH_S = BATCH_SIZE / PATCHES_PER_S
PATCH_PX = 32
BAR = 0.01


class Paced(IterableDataset[dict[str, Any]]):
    """Patches that take as long as they would at a given pace, a batch's time at its first."""

    def __init__(self, batch_s: float) -> None:
        self.batch_s = batch_s
        self.image = torch.zeros(3, PATCH_PX, PATCH_PX, dtype=torch.uint8)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        number = 0
        while True:
            if number % BATCH_SIZE == 0 and self.batch_s:
                time.sleep(self.batch_s)
            yield {
                "image": self.image,
                "slide_path": f"/slides/slide_{number % 8}.svs",
                "x": number,
                "y": number,
                "level": 0,
            }
            number += 1


def main() -> int:
    """Print both loops side by side, at the pace and without one; fail above the bar."""
    print(f"batches of {BATCH_SIZE} patches: {BATCH_S * 1e3:.0f} ms each at {PATCHES_PER_S}/s\n")
    names = ("taken and recorded by the stage", "taken by a bare loop")
    with_pace = compare(names, arms(BATCH_S, n_batches=LoaderParams().batches), repeats=5)
    at_pace = ratio_of(*with_pace) - 1
    print(f"cost of recording {at_pace:+.3%} of a batch   bar {BAR:.0%}\n")
    n_batches = 400
    without = compare(names, arms(0.0, n_batches=n_batches), repeats=20)
    cost_s = statistics.median(a - b for a, b in zip(*without, strict=True)) / n_batches
    share = cost_s / BATCH_S
    print(
        f"cost of recording {cost_s * 1e6:.1f} us a batch, which is {share:+.3%} of a batch at "
        f"{PATCHES_PER_S} patches/s   bar {BAR:.0%}"
    )
    return 0 if max(at_pace, share) < BAR else 1


def ratio_of(recorded: list[float], bare: list[float]) -> float:
    """Median of paired ratios."""
    return statistics.median(a / b for a, b in zip(recorded, bare, strict=True))


def arms(batch_s: float, *, n_batches: int) -> tuple[Callable[[], None], Callable[[], None]]:
    """Two ways to take that many batches from a data set of its own each."""
    params = LoaderParams(batch_size=BATCH_SIZE, batches=n_batches, num_workers=0)
    batches = Batches(Paced(batch_s), params, seed=0, num_workers=0)
    batches.begin()
    bare = iter(DataLoader(Paced(batch_s), batch_size=BATCH_SIZE))

    def recorded() -> None:
        time_window(batches, params, None, [])

    def alone() -> None:
        for _ in range(n_batches):
            next(bare)

    return recorded, alone


if __name__ == "__main__":
    sys.exit(main())

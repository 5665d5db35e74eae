"""Cores and GPU of each worker on this machine."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal

from pyscale.errors import UserError
from pyscale_stages.contract import Device
from pyscale_stages.measure.cpus import first_threads, usable_cpus
from pyscale_stages.wording import plural

GPUS = "CUDA_VISIBLE_DEVICES"
"""Variable that names the GPUs which a process may use."""


@dataclass(frozen=True)
class Place:
    """Cores and variables of one worker, and whether another worker shares them."""

    cpus: tuple[int, ...]
    env: dict[str, str] = field(default_factory=dict)
    shared: bool = False


class Placement:
    """Gives each worker its own cores, as long as there are any."""

    def __init__(self, cpus: Sequence[int], cpus_per_worker: int, gpus: Sequence[str]) -> None:
        if cpus_per_worker > len(cpus):
            raise UserError(
                f"{plural(cpus_per_worker, 'core')} of one task exceed the {len(cpus)} usable "
                "cores of this "
                "machine: lower --cpus-per-worker or the threads of the grid, or --workers where "
                "N is the threads of one task"
            )
        self._cpus = tuple(cpus)
        self._per_worker = cpus_per_worker
        self._gpus = tuple(gpus)

    @property
    def most_workers(self) -> int:
        """Workers that can run at once without sharing a core."""
        return len(self._cpus) // self._per_worker

    def of(
        self,
        worker: int,
        workers: int,
        device: Device,
        gpus: int | Literal["all"] | None = None,
    ) -> Place:
        """Place of one worker among `workers`.

        Workers beyond the cores, or the GPUs, wrap around, and all of such a trial count as shared.
        """
        first = (worker % self.most_workers) * self._per_worker
        cpus = self._cpus[first : first + self._per_worker]
        shared = workers > self.most_workers
        if device != "cuda":
            # A Mac has one GPU.
            return Place(cpus, shared=shared or (device == "mps" and workers > 1))
        if not self._gpus:
            raise UserError(
                "--device cuda: no NVIDIA GPU is visible here; run on a node that has one, or "
                "use --device cpu"
            )
        visible = len(self._gpus)
        per_worker = visible if gpus == "all" else gpus or 1
        if per_worker > visible:
            raise UserError(
                f"{plural(per_worker, 'GPU')} per worker exceed the {visible} usable GPUs of "
                "this machine: ask for fewer, or for all"
            )
        sets = visible // per_worker
        begin = (worker % sets) * per_worker
        own = self._gpus[begin : begin + per_worker]
        return Place(cpus, {GPUS: ",".join(own)}, shared or workers > sets)


def local_placement(cpus_per_worker: int) -> Placement:
    """Physical cores and GPUs of this machine: a second thread of a core is no second core."""
    return Placement(first_threads(usable_cpus()), cpus_per_worker, visible_gpus())


def is_apple_silicon() -> bool:
    """Whether this is a Mac with the GPU that Metal computes on."""
    return sys.platform == "darwin" and platform.machine() == "arm64"


def visible_gpus() -> list[str]:
    """Identifiers of the NVIDIA GPUs that this process may use; empty without a driver."""
    allowed = os.environ.get(GPUS)
    if allowed is not None:
        # CUDA itself stops at the first identifier that is none, as in "-1".
        return list(takewhile(lambda part: part and not part.startswith("-"), allowed.split(",")))
    try:
        import pynvml
    except ModuleNotFoundError:
        return []
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    count = int(pynvml.nvmlDeviceGetCount())
    return [
        str(pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByIndex(i))) for i in range(count)
    ]

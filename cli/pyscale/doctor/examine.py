"""An examination: groups of checks, one after the other, on the machine that this runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pyscale.doctor.containers import containers
from pyscale.doctor.cores import cores, memory
from pyscale.doctor.data import data
from pyscale.doctor.disks import disks
from pyscale.doctor.findings import Finding
from pyscale.doctor.gpu import gpu
from pyscale.doctor.images import images
from pyscale.doctor.place import place
from pyscale.doctor.stages import stages
from pyscale.doctor.subject import Subject
from pyscale.doctor.system import system

Listener = Callable[[str], None]
"""Hears which group begins."""


@dataclass(frozen=True)
class Checks:
    """A group of checks and what it looks at, in words."""

    what: str
    run: Callable[[Subject], Iterable[Finding]]


STAGES = Checks("the stages' libraries, weights and devices", stages)
GPU = Checks("the GPU", gpu)
CORES = Checks("cores and threads", cores)
MEMORY = Checks("memory", memory)
DISKS = Checks("disks", disks)
PLACE = Checks("the folder to measure", place)
SYSTEM = Checks("the system", system)
CONTAINERS = Checks("the container program", containers)
IMAGES = Checks("images", images)
DATA = Checks("the movie", data)

ON_THIS_MACHINE = (STAGES, GPU, CORES, MEMORY, DISKS, PLACE, SYSTEM, CONTAINERS, IMAGES, DATA)
"""Where the suite would run here."""
BESIDE_THE_NODES = (DISKS, IMAGES, DATA)
"""Where it would run on other nodes, and is only started here."""


def examine(
    subject: Subject, groups: Sequence[Checks], listener: Listener = lambda _: None
) -> list[Finding]:
    """Run groups of checks in order."""
    found: list[Finding] = []
    for group in groups:
        listener(group.what)
        found += group.run(subject)
    return found

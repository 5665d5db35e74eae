"""The probe job of a node: the same checks, and the shared folders.

`python -m pyscale.doctor.probe REQUEST.json SCRATCH [BIND…]` reads a request in a folder that all
nodes see and leaves the answer beside it, under the node's name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from pyscale.doctor.containers import containers
from pyscale.doctor.cores import cores, memory
from pyscale.doctor.data import data
from pyscale.doctor.disks import disks, folder
from pyscale.doctor.findings import Finding, ok, problem
from pyscale.doctor.gpu import gpu
from pyscale.doctor.images import images
from pyscale.doctor.place import place
from pyscale.doctor.stages import stages
from pyscale.doctor.subject import Subject
from pyscale.doctor.system import system
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.measure.mounts import filesystem_of
from pyscale_stages.measure.nodename import node_name

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

_NO_SCRATCH = "change scratch in the site's file, or ask the staff to mount it"


class Request(Record):
    """What every node is asked."""

    subject: Subject
    paths: tuple[Path, ...] = Field(description="What must be there on every node")


class NodeAnswer(Record):
    """What one node answered."""

    node: str
    findings: tuple[Finding, ...]


def answer_file(folder: Path, node: str) -> Path:
    """Where a node leaves its answer."""
    return folder / f"{node}.answer.json"


def probe(request: Request, scratch: str, binds: Sequence[str]) -> NodeAnswer:
    """Answer a request for the node that this runs on.

    `scratch`: the site's scratch folder as the node's shell knows it; empty where it has none.
    """
    of_site = [folder("site_scratch", Path(scratch), _NO_SCRATCH)] if scratch else []
    findings = (
        *presence([*request.paths, *map(Path, binds)]),
        *of_site,
        *examine(request.subject, ON_THIS_MACHINE),
    )
    return NodeAnswer(node=node_name(), findings=findings)


def presence(paths: Sequence[Path]) -> Iterator[Finding]:
    """Look whether paths that others have are there."""
    for path in dict.fromkeys(paths):
        check = f"disk.path.{path}"
        try:
            path.stat()
        except OSError as error:
            yield problem(
                check,
                f"{path} is missing ({(error.strerror or '').lower()})",
                "ask the staff to mount it there, or leave the node out by --exclude",
                value="missing",
            )
        else:
            fs_type = filesystem_of(path).fs_type
            yield ok(check, f"{path} is there, on {fs_type}", value=fs_type)


def main(request_file: Path, scratch: str, *binds: str) -> None:
    """Probe this node and leave the answer, whole or not at all."""
    request = Request.model_validate_json(request_file.read_bytes())
    answer = probe(request, scratch, binds)
    file = answer_file(request_file.parent, answer.node)
    write_atomically(file, answer.model_dump_json(indent=1) + "\n")


def examine(
    subject: Subject, groups: Sequence[Checks], listener: Listener = lambda _: None
) -> list[Finding]:
    """Run groups of checks in order."""
    found: list[Finding] = []
    for group in groups:
        listener(group.what)
        found += group.run(subject)
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])

"""What runs on a node in its probe job: the same checks, and whether shared folders are there.

`python -m pyscale.doctor.probe REQUEST.json SCRATCH [BIND…]` reads a request in a folder that all
nodes see and leaves the answer beside it, under the node's name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field

from pyscale.doctor.disks import folder
from pyscale.doctor.examine import ON_THIS_MACHINE, examine
from pyscale.doctor.findings import Finding, ok, problem
from pyscale.doctor.subject import Subject
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.measure.mounts import filesystem_of
from pyscale_stages.measure.nodename import node_name

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

    Parameters
    ----------
    request : Request
    scratch : str
        The site's scratch folder as the node's shell knows it; empty where it has none.
    binds : sequence of str
        Paths that the site makes visible in images, as the node's shell knows them.
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


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])

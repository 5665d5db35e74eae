"""The probe job of a node: the same checks, the shared folders, and how nodes differ.

`python -m pyscale.doctor.probe REQUEST.json SCRATCH [BIND…]` reads a request in a folder that all
nodes see and leaves the answer beside it, under the node's name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from pydantic import Field

from pyscale.doctor.containers import containers, images
from pyscale.doctor.cores import cores, memory
from pyscale.doctor.data import data
from pyscale.doctor.disks import disks, folder, place
from pyscale.doctor.findings import RANK, Finding, ok, problem
from pyscale.doctor.gpu import gpu
from pyscale.doctor.stages import stages
from pyscale.doctor.subject import Subject
from pyscale.doctor.system import system
from pyscale_stages.atomic import write_atomically
from pyscale_stages.contract import Record
from pyscale_stages.measure.mounts import filesystem_of
from pyscale_stages.measure.nodename import node_name

Checks = tuple[str, Callable[[Subject], Iterable[Finding]]]
"""What a group of checks looks at, in words, and the group."""
_DISKS: Checks = ("disks", disks)
_IMAGES: Checks = ("images", images)
_DATA: Checks = ("the movie", data)
ON_THIS_MACHINE: tuple[Checks, ...] = (
    ("the stages' libraries, weights and devices", stages),
    ("the GPU", gpu),
    ("cores and threads", cores),
    ("memory", memory),
    _DISKS,
    ("the folder to measure", place),
    ("the system", system),
    ("the container program", containers),
    _IMAGES,
    _DATA,
)
"""Where the suite would run here."""
BESIDE_THE_NODES = (_DISKS, _IMAGES, _DATA)
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
    subject: Subject, groups: Sequence[Checks], listener: Callable[[str], None] = lambda _: None
) -> list[Finding]:
    """Run groups of checks in order."""
    found: list[Finding] = []
    for what, run in groups:
        listener(what)
        found += run(subject)
    return found


class Difference(Record):
    """One check that some nodes answer otherwise than most."""

    check: str
    nodes: tuple[str, ...] = Field(description="Those that differ, and all answer the same")
    finding: Finding = Field(description="Theirs")
    usual: Finding = Field(description="That of most nodes")


def differences(answers: Sequence[NodeAnswer]) -> list[Difference]:
    """Compare nodes check by check, by the status and the value of what they found.

    The usual answer is that of most nodes; of two that are equally frequent, the better one. A
    node that lacks a check is not compared by it: an earlier check of that node says why.
    """
    return [
        Difference(check=check, nodes=nodes, finding=finding, usual=groups[0][1])
        for check, groups in _by_check(answers).items()
        for nodes, finding in groups[1:]
    ]


def in_common(answers: Sequence[NodeAnswer]) -> list[Finding]:
    """What all nodes found alike, in the words of the first."""
    return [
        groups[0][1]
        for groups in _by_check(answers).values()
        if len(groups) == 1 and len(groups[0][0]) == len(answers)
    ]


def _by_check(
    answers: Sequence[NodeAnswer],
) -> dict[str, list[tuple[tuple[str, ...], Finding]]]:
    """Nodes that answer alike, for each check in its order; the usual group first."""
    by_check: dict[str, dict[tuple[int, str], list[tuple[str, Finding]]]] = {}
    for answer in answers:
        for finding in answer.findings:
            kinds = by_check.setdefault(finding.check, {})
            kind = (RANK[finding.status], finding.value)
            kinds.setdefault(kind, []).append((answer.node, finding))
    return {
        check: [
            (tuple(node for node, _ in alike), alike[0][1])
            # The largest first; of two that are equally large the lower rank, which is better.
            for _, alike in sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0]))
        ]
        for check, kinds in by_check.items()
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])

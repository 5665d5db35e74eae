"""Differences between the nodes of one partition."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from pyscale.doctor.findings import Finding
from pyscale.doctor.probe import NodeAnswer
from pyscale_stages.contract import Record

_RANK = {"ok": 0, "not applicable": 1, "warning": 2, "problem": 3}


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
            kind = (_RANK[finding.status], finding.value)
            kinds.setdefault(kind, []).append((answer.node, finding))
    return {
        check: [
            (tuple(node for node, _ in alike), alike[0][1])
            for _, alike in sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0]))
        ]
        for check, kinds in by_check.items()
    }

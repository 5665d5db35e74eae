"""What `pyscale doctor` found: here, and on the nodes of a partition."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pyscale.doctor.differences import Difference
from pyscale.doctor.findings import Finding
from pyscale.doctor.probe import NodeAnswer
from pyscale_stages.contract import Record


class Diagnosis(Record):
    """Everything that was found; `--json` prints it."""

    schema_version: Literal[1] = 1
    node: str = Field(description="Name of the machine that this was started on")
    suite: str
    partitions: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = Field(
        description="Of this machine, what all nodes have in common, and nodes that are silent"
    )
    differences: tuple[Difference, ...] = Field((), description="Between the nodes of a partition")
    nodes: tuple[NodeAnswer, ...] = Field((), description="All that each node answered")

    @property
    def has_problem(self) -> bool:
        """Whether a run would fail, here or on a node."""
        everything = (*self.findings, *(difference.finding for difference in self.differences))
        return any(finding.status == "problem" for finding in everything)

"""What a report must say that no table holds: where the numbers come from."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from pyscale_stages.contract import Record


class Node(Record):
    """Nodes of one kind that tasks ran on, with all that was recorded of them."""

    names: tuple[str, ...] = Field(description="Names of the nodes; they differ in nothing below")
    stamp: dict[str, Any] = Field(description="The hardware stamp, as a result carries it")


class Command(Record):
    """A line to type, and what it does."""

    what: str = Field(description="What it does, as a sentence begins")
    line: str = Field(description="The line, ready to paste into a shell")


class Work(Record):
    """What one entry of a suite computed, and how right it is to be."""

    data: str = Field(description="Dataset that it, or what feeds it, measured on")
    how: str = Field(description="Algorithms that its parameters name")
    at_least: dict[str, float] = Field(
        default_factory=dict, description="Least of measures of quality"
    )
    at_most: dict[str, float] = Field(
        default_factory=dict, description="Most of measures of quality"
    )

    @property
    def asked(self) -> str:
        """The bounds in words."""
        bounds = [f"{name} >= {bound:g}" for name, bound in self.at_least.items()]
        return ", ".join([*bounds, *(f"{name} <= {b:g}" for name, b in self.at_most.items())])


class ReportContext(Record):
    """Origin of the numbers in a report."""

    title: str = Field(description="What was measured, such as the run's id or the table's name")
    settings: dict[str, str] = Field(
        default_factory=dict, description="Every factor of the measurement: name and value"
    )
    hardware: tuple[dict[str, str], ...] = Field(
        (), description="One per node: property and value, in the order to print"
    )
    measured_for: str = Field(
        "what was measured", description="What was processed, as sentences on requests name it"
    )
    run_id: str | None = Field(None, description="The run, where it is one of pyscale")
    work_id: str | None = Field(
        None, description="Fingerprint of its input and parameters (`pyscale.references.workid`)"
    )
    started: datetime | None = Field(None, description="When its first task was submitted, UTC")
    nodes: tuple[Node, ...] = Field((), description="Every kind of node that tasks ran on")
    facts: dict[str, dict[str, str]] = Field(
        default_factory=dict,
        description="What else it was made from, by heading: name and value",
    )
    commands: tuple[Command, ...] = Field((), description="What would measure it again")
    works: dict[str, Work] = Field(
        default_factory=dict, description="What each entry of its suite computed"
    )
    not_measured: tuple[str, ...] = Field(
        (), description="Sentences on what the run left out, beyond what the tables show"
    )

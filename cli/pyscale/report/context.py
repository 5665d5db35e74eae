"""Origin of the numbers of a report."""

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
    """Algorithm of one entry of a suite, and its required quality."""

    data: str = Field(description="Dataset that it, or what feeds it, measured on")
    source: str | None = Field(None, description="What to cite for the dataset")
    how: str = Field(description="The algorithm that ran, with its version, in a few words")
    stand_in: str | None = Field(
        None, description="Sentence on a small model that ran in place of a published one"
    )
    packages: dict[str, str] = Field({}, description="Versions of the packages that compute it")
    cites: tuple[str, ...] = Field((), description="Keys of `config/citations.bib`")
    at_least: dict[str, float] = Field({}, description="Least of measures of quality")
    at_most: dict[str, float] = Field({}, description="Most of measures of quality")

    @property
    def asked(self) -> str:
        """The bounds in words."""
        least = (f"{name} >= {bound:g}" for name, bound in self.at_least.items())
        return ", ".join([*least, *(f"{name} <= {b:g}" for name, b in self.at_most.items())])


class ReportContext(Record):
    """Origin of the numbers in a report."""

    title: str = Field(description="What was measured, such as the run's id or the table's name")
    settings: dict[str, str] = Field(
        {}, description="Every factor of the measurement: name and value"
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
    took: str | None = Field(None, description="From then to the end of its last task, in words")
    nodes: tuple[Node, ...] = Field((), description="Every kind of node that tasks ran on")
    facts: dict[str, dict[str, str]] = Field(
        {}, description="What else it was made from, by heading: name and value"
    )
    commands: tuple[Command, ...] = Field((), description="What would measure it again")
    works: dict[str, Work] = Field({}, description="What each entry of its suite computed")
    adds_up: bool | None = Field(
        None,
        description="Whether its stages together process the data once, so that their wall times "
        "add up; None is not known",
    )
    lacking: tuple[str, ...] = Field(
        (), description="Sentences on records and trials that are missing or cannot be read"
    )

    @property
    def stand_ins(self) -> tuple[str, ...]:
        """Sentences on the small models that ran in place of published ones."""
        said = (work.stand_in for work in self.works.values() if work.stand_in)
        return tuple(dict.fromkeys(said))

    @property
    def timed(self) -> tuple[str, ...]:
        """Caption of a figure whose panels name no algorithm: which ran, and what stood in."""
        algorithms = dict.fromkeys(work.how for work in self.works.values())
        told = (f"Timed: {'; '.join(algorithms)}.",) if algorithms else ()
        return (*told, *self.stand_ins)

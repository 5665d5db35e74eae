"""A finding: its sentence, its status and its remedy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field

from pyscale_stages.contract import Record

Status = Literal["ok", "warning", "problem", "not applicable"]
GROUPS = {
    "stage": "Stages",
    "gpu": "GPU",
    "cpu": "Cores and threads",
    "memory": "Memory",
    "disk": "Disks",
    "system": "System",
    "container": "Containers",
    "image": "Images",
    "data": "Data",
    "slurm": "Slurm",
    "node": "Nodes",
}
"""Titles by the first part of a check's name, in the order in which they are shown."""


class Finding(Record):
    """What one check found."""

    check: str = Field(
        pattern=r"^[a-z]+\.", description="Stable name of the check, like cpu.usable"
    )
    status: Status
    sentence: str = Field(description="What is")
    remedy: str = Field("", description="What to do; a command where there is one")
    source: str = Field("", description="Where the fact is written, where it needs that")
    value: str = Field("", description="What nodes of one kind have in common, for comparing them")

    @property
    def group(self) -> str:
        """Title of the group that the check belongs to."""
        return GROUPS[self.check.partition(".")[0]]


def ok(check: str, sentence: str, *, value: str = "") -> Finding:
    """All is well."""
    return Finding(check=check, status="ok", sentence=sentence, value=value)


def warning(check: str, sentence: str, remedy: str, *, value: str = "") -> Finding:
    """It works, but slower or otherwise than one would think."""
    return Finding(check=check, status="warning", sentence=sentence, remedy=remedy, value=value)


def warn_if(doubtful: bool, check: str, sentence: str, why: str, remedy: str) -> Finding:
    """Say what is, and where that is doubtful why."""
    return warning(check, sentence + why, remedy) if doubtful else ok(check, sentence)


def problem(check: str, sentence: str, remedy: str, *, value: str = "") -> Finding:
    """A run would fail, or measure what was not meant."""
    return Finding(check=check, status="problem", sentence=sentence, remedy=remedy, value=value)


def refused(check: str, error: object, of: str = "") -> Finding:
    """A problem in the words of an error: what is wrong, then what to do."""
    sentence, _, remedy = str(error).rpartition(": ")
    return problem(check, of + (sentence or remedy), remedy if sentence else "")


def beside_the_point(check: str, sentence: str, remedy: str = "") -> Finding:
    """The suite does not need it; the remedy says how to have it all the same."""
    return Finding(check=check, status="not applicable", sentence=sentence, remedy=remedy)


def of_status(findings: Iterable[Finding], status: Status) -> list[Finding]:
    """Findings of one status, in their order."""
    return [finding for finding in findings if finding.status == status]


def verdict(findings: Sequence[Finding]) -> str:
    """Say in one line how it stands."""
    problems, warnings = (len(of_status(findings, status)) for status in ("problem", "warning"))
    if problems:
        return f"{counted(problems, 'problem')} and {counted(warnings, 'warning')}"
    if warnings:
        return f"no problem, {counted(warnings, 'warning')}"
    return "no problem found"


def counted(number: int, word: str) -> str:
    """Name a number of things, as in "1 problem" and "2 problems"."""
    return f"{number} {word}{'' if number == 1 else 's'}"

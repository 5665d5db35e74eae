"""`pyscale doctor`: findings about this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from pydantic import Field
from rich.console import Group
from rich.progress import BarColumn, MofNCompleteColumn

from pyscale.console import answer, vanishing_progress
from pyscale.doctor.containers import containers, images
from pyscale.doctor.cores import cores, memory
from pyscale.doctor.data import data
from pyscale.doctor.disks import disks, place
from pyscale.doctor.findings import Finding, findings_table, verdict_line
from pyscale.doctor.gpu import gpu
from pyscale.doctor.slurm import slurm
from pyscale.doctor.stages import stages
from pyscale.doctor.subject import Subject
from pyscale.doctor.system import system
from pyscale.planning.runsettings import settings_for
from pyscale_stages.contract import Record
from pyscale_stages.measure.nodename import node_name

EXIT_PROBLEM = 1
CHECKS: tuple[tuple[str, Callable[[Subject], Iterable[Finding]]], ...] = (
    ("the stages' libraries, weights and devices", stages),
    ("the GPU", gpu),
    ("cores and threads", cores),
    ("memory", memory),
    ("disks", disks),
    ("the folder to measure", place),
    ("the system", system),
    ("the container program", containers),
    ("images", images),
    ("the movie", data),
)
"""What each group of checks looks at, in words, and the group."""


def doctor(suite: str, *, device: str | None, as_json: bool) -> int:
    """Examine, print what was found, and return the exit code."""
    subject = Subject.of_suite(suite, settings_for(suite, {"device": device}))
    findings = (*_examined(subject), *slurm())
    found = Diagnosis(node=node_name(), suite=subject.suite, findings=findings)
    if as_json:
        print(found.model_dump_json(indent=1))  # noqa: T201 - the command's answer
    else:
        title = f"{found.suite} on {found.node}"
        answer(Group(findings_table(findings, title), verdict_line(findings)))
    return EXIT_PROBLEM if found.has_problem else 0


def _examined(subject: Subject) -> list[Finding]:
    found: list[Finding] = []
    with vanishing_progress("{task.description}", BarColumn(), MofNCompleteColumn()) as progress:
        bar = progress.add_task("", total=len(CHECKS))
        for what, examine in CHECKS:
            progress.update(bar, description=f"looking at {what}")
            found += examine(subject)
            progress.advance(bar)
    return found


class Diagnosis(Record):
    """Everything that was found; `--json` prints it."""

    schema_version: Literal[2] = 2
    node: str = Field(description="Name of this machine")
    suite: str
    findings: tuple[Finding, ...]

    @property
    def has_problem(self) -> bool:
        """Whether a run would fail."""
        return any(finding.status == "problem" for finding in self.findings)

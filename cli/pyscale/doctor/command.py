"""`pyscale doctor`: findings about this machine."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from pydantic import Field
from rich import box
from rich.console import Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn
from rich.table import Table
from rich.text import Text

from pyscale.console import answer, vanishing_progress
from pyscale.doctor.examined import plan_to_examine
from pyscale.doctor.files import data, disks, place
from pyscale.doctor.machine import cores, devices, load, memory, thread_variables
from pyscale.doctor.preflight import slurm
from pyscale.doctor.stages import containers, stages
from pyscale.findings import Finding, Status
from pyscale.planning.plan import Plan
from pyscale.planning.runsettings import settings_for
from pyscale_stages.contract import Record
from pyscale_stages.measure.nodename import node_name
from pyscale_stages.wording import plural

EXIT_PROBLEM = 1


class Diagnosis(Record):
    """Everything that was found; `--json` prints it."""

    schema_version: Literal[3] = 3
    node: str = Field(description="Name of this machine")
    suite: str
    findings: tuple[Finding, ...]

    @property
    def has_problem(self) -> bool:
        """Whether a run would fail."""
        return any(finding.status == "problem" for finding in self.findings)


def doctor(suite: str, *, device: str | None, as_json: bool) -> int:
    """Examine, print what was found, and return the exit code."""
    plan = plan_to_examine(suite, settings_for(suite, {"device": device}))
    found = Diagnosis(node=node_name(), suite=plan.suite.name, findings=tuple(_examined(plan)))
    if as_json:
        print(found.model_dump_json(indent=1))  # noqa: T201 - the command's answer
    else:
        title = f"{found.suite} on {found.node}"
        answer(Group(findings_table(found.findings, title), verdict(found.findings)))
    return EXIT_PROBLEM if found.has_problem else 0


def _examined(plan: Plan) -> list[Finding]:
    checks: dict[str, Callable[[Plan], Iterable[Finding]]] = {
        "the stages' libraries, weights and devices": stages,
        "the GPU": devices,
        "cores, memory and load": _machine,
        "disks": disks,
        "the folder to measure": place,
        "the container program and images": containers,
        "the data": data,
        "Slurm": lambda _plan: slurm(),
    }
    found: list[Finding] = []
    with vanishing_progress("{task.description}", BarColumn(), MofNCompleteColumn()) as progress:
        bar = progress.add_task("", total=len(checks))
        for what, examine in checks.items():
            progress.update(bar, description=f"looking at {what}")
            found += examine(plan)
            progress.advance(bar)
    return found


def _machine(plan: Plan) -> Iterator[Finding]:
    yield cores(plan)
    yield from thread_variables(os.environ, plan)
    yield memory(plan)
    yield load(os.getloadavg()[0], os.cpu_count() or 1)


_SIGNS: dict[Status, tuple[str, str]] = {
    "ok": ("✓ ok", "green"),
    "warning": ("! warning", "yellow"),
    "problem": ("✗ problem", "bold red"),
}


def findings_table(findings: Sequence[Finding], title: str) -> RenderableType:
    """Lay findings out, each with what to do below what is."""
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, show_header=False, padding=(0, 1)
    )
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold", ratio=1)
    for finding in findings:
        text = Text(": ".join(filter(None, (finding.where, finding.what))))
        if finding.do:
            text.append(f"\n→ {finding.do}", "bold")
        table.add_row(Text(*_SIGNS[finding.status]), Text(finding.code, "dim"), text)
    return table


def verdict(findings: Iterable[Finding]) -> Text:
    """Say in the last line how it stands."""
    counts = Counter(finding.status for finding in findings)
    worst: Status = next((one for one in ("problem", "warning") if counts[one]), "ok")
    problems = plural(counts["problem"], "problem") if counts["problem"] else "no problem"
    said = f"{problems}, {plural(counts['warning'], 'warning')}"
    return Text.assemble(("Verdict: ", "bold"), (said, _SIGNS[worst][1]))
